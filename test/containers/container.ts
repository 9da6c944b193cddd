/** Starts a database in a container: fetches its image, waits until the server is ready, and removes the container in every case. */
import { randomBytes } from 'node:crypto'
import { addAbortSignal } from 'node:stream'
import type { Readable } from 'node:stream'
import { GenericContainer, ImageName, getContainerRuntimeClient } from 'testcontainers'
import type { ContainerRuntimeClient } from 'testcontainers'
import type { Kind } from './engines.ts'
import { showProgress } from './progress.ts'

export interface RunningContainer extends AsyncDisposable {
  /** The URL of the server, with a user who may do everything. */
  readonly url: string
}

/**
 * Starts a container, which may take minutes.
 *
 * @throws Error if there is no Docker engine, the image cannot be had, or the server does not become ready; the signal's reason once it is aborted
 */
export async function startContainer(image: string, kind: Kind, signal: AbortSignal): Promise<RunningContainer> {
  const client = await getContainerRuntimeClient().catch((cause: unknown) => {
    throw new Error(
      'No Docker engine answers. Start Docker, or say where it is with DOCKER_HOST, and try again. ' +
        `Without one, ${kind.variable}=… npm test -- --project ${kind.project} runs the suite on a server of yours.`,
      { cause },
    )
  })
  await fetchImage(client, image, signal)
  const password = `p${randomBytes(12).toString('hex')}`
  let log = ''
  const container = new Container(image, signal)
    .withEnvironment(kind.environment(password))
    .withExposedPorts(kind.port)
    .withCommand([...kind.settings])
    .withWaitStrategy(kind.ready())
    .withStartupTimeout(600_000)
    .withLogConsumer((stream) => stream.on('data', (text: Buffer) => (log = `${log}${text.toString()}`.slice(-4000))))
  const remove = async (): Promise<void> => {
    if (container.id !== undefined)
      await client.container.getById(container.id).remove({ force: true, v: true }).catch(unlessGone)
  }
  // An abort removes the container even while it is still starting.
  const onAbort = (): void => void remove()
  signal.addEventListener('abort', onAbort)
  try {
    const started = await container.start()
    signal.throwIfAborted()
    const url = kind.url(password, `${started.getHost()}:${started.getMappedPort(kind.port)}`)
    return { url, [Symbol.asyncDispose]: remove }
  } catch (cause) {
    // If the container ended at once, nothing of its log has been read yet.
    if (container.id !== undefined) log ||= await lastWords(client, container.id)
    await remove()
    signal.throwIfAborted()
    const said = log === '' ? 'It said nothing' : `The last that it said:\n${log}`
    throw new Error(`${image} did not become ready: ${messageOf(cause)}. ${said}`, { cause })
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

/** A container whose id is known as soon as there is something to remove. */
class Container extends GenericContainer {
  id: string | undefined
  readonly #signal: AbortSignal

  constructor(image: string, signal: AbortSignal) {
    super(image)
    this.#signal = signal
  }

  protected override async containerCreated(id: string): Promise<void> {
    this.id = id
    this.#signal.throwIfAborted()
  }
}

/** Fetches an image and shows the progress. testcontainers would fetch it silently, which may take minutes. */
async function fetchImage(client: ContainerRuntimeClient, image: string, signal: AbortSignal): Promise<void> {
  const name = ImageName.fromString(image)
  if (await client.image.exists(name)) return
  try {
    const stream = (await client.container.dockerode.pull(name.string, { abortSignal: signal })) as Readable
    await showProgress(name.string, addAbortSignal(signal, stream))
  } catch (cause) {
    signal.throwIfAborted()
    throw new Error(
      `The image ${name.string} is not on this machine, and cannot be fetched: ${messageOf(cause)}. ` +
        'With docker pull it can be fetched beforehand, where a login is needed; --image and --kind take one that is there.',
      { cause },
    )
  }
}

/** Stops the container, so that its log ends, and returns the log. */
async function lastWords(client: ContainerRuntimeClient, id: string): Promise<string> {
  const container = client.container.getById(id)
  await container.kill().catch(unlessGone)
  const log = await client.container.logs(container, { tail: 40 })
  return (await log.toArray()).join('')
}

function unlessGone(error: unknown): void {
  const { statusCode } = error as { statusCode?: unknown }
  // 404: the container is gone. 409: it is being removed, or has ended already.
  if (statusCode !== 404 && statusCode !== 409) throw error
}

function messageOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).trim()
}
