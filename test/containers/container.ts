/** A database in a container: its image is fetched, it is waited for, and it is removed whatever happens. */
import { randomBytes } from 'node:crypto'
import { addAbortSignal } from 'node:stream'
import type { Readable } from 'node:stream'
import { GenericContainer, ImageName, getContainerRuntimeClient } from 'testcontainers'
import type { ContainerRuntimeClient } from 'testcontainers'
import type { Kind } from './engines.ts'
import { showProgress } from './progress.ts'

export interface RunningContainer extends AsyncDisposable {
  /** Where its server is, of a user who may do everything. */
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
  // Whoever stops it while it starts does not wait until it has.
  const onAbort = (): void => void remove()
  signal.addEventListener('abort', onAbort)
  try {
    const started = await container.start()
    signal.throwIfAborted()
    const url = kind.url(password, `${started.getHost()}:${started.getMappedPort(kind.port)}`)
    return { url, [Symbol.asyncDispose]: remove }
  } catch (cause) {
    // A container that ended at once was not listened to yet.
    if (container.id !== undefined) log ||= await lastWords(client, container.id)
    await remove()
    signal.throwIfAborted()
    const said = log === '' ? 'It said nothing' : `The last that it said:\n${log}`
    throw new Error(`${image} did not become ready: ${messageOf(cause)}. ${said}`, { cause })
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

/** Is known by its id from the moment when there is something to be removed. */
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

/** testcontainers would fetch it too, without a word: for minutes, and also when there is none. */
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

/** Ends the container, as its log ends with it. */
async function lastWords(client: ContainerRuntimeClient, id: string): Promise<string> {
  const container = client.container.getById(id)
  await container.kill().catch(unlessGone)
  const log = await client.container.logs(container, { tail: 40 })
  return (await log.toArray()).join('')
}

function unlessGone(error: unknown): void {
  const { statusCode } = error as { statusCode?: unknown }
  // It is not there any more, or is just being removed; or it has ended already.
  if (statusCode !== 404 && statusCode !== 409) throw error
}

function messageOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).trim()
}
