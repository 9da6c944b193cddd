import { STATUS_CODES } from 'node:http'
import { checkInteger, cutText, invalid, optionNames, TaskError } from '@taskstream/task-api'
import type { TaskDecision } from '@taskstream/task-api'
import { askedPauseMs } from '../definitions/asked-pause.ts'
import { answered, terminated, textOfJob, titleOf } from './external-job.ts'
import type { ExternalHandler, ExternalJob } from './external-job.ts'
import { checkSecretNames, secretInvalid } from '../definitions/secret-options.ts'
import { webhookHeaderNames, webhookSigner } from './webhook-signature.ts'
import type { WebhookSigner } from './webhook-signature.ts'

export interface HttpRequestOptions {
  /** An address of http: or https:, without a user and a password. Messages show it without its query. */
  readonly url: string | URL
  /** Headers of each request. Their values may be secrets, and stand in no message. */
  readonly headers?: Readonly<Record<string, string>>
  /** Default `POST`. */
  readonly method?: 'POST' | 'PUT' | 'PATCH'
  /** How long a service may take for its whole answer, in milliseconds, 1 to 300 000. Default 30 000. */
  readonly attemptMs?: number
  /** How many bytes an answer may have, 1 to 16 777 216. Default 1 MiB. */
  readonly responseBytes?: number
  /**
   * Signs each request by Standard Webhooks, so that the service knows who asks: `whsec_`, and 24 to 64 random bytes in base64. The headers are
   * `webhook-id`, `webhook-timestamp` and `webhook-signature`.
   */
  readonly signingSecret?: string
}

const names = optionNames<HttpRequestOptions>('httpRequest', {
  url: true,
  headers: true,
  method: true,
  attemptMs: true,
  responseBytes: true,
  signingSecret: true,
})

const methods: readonly string[] = ['POST', 'PUT', 'PATCH']

/** `fetch` waits no longer for an answer, and for each part of one. */
const longestAttemptMs = 300_000

/** What each request says of itself, and what belongs to its connection. */
const ownHeaders: ReadonlySet<string> = new Set([
  'content-type',
  'content-length',
  'idempotency-key',
  'attempt-deadline',
  'connection',
  'expect',
  'keep-alive',
  'transfer-encoding',
  'upgrade',
])

/** Answers of the class 4xx after which a later try may succeed: Request Timeout, Too Early, Too Many Requests. */
const passingStatuses: ReadonlySet<number> = new Set([408, 425, 429])

/** A service, and how it is asked. */
interface Service {
  readonly url: string
  /** Without its query, for messages. */
  readonly shown: string
  readonly headers: Headers
  readonly method: string
  readonly attemptMs: number
  readonly responseBytes: number
  readonly sign: WebhookSigner | undefined
}

/**
 * Makes a handler that has a service handle each try of a job. The service gets the job as a JSON object: `id`, `name`, `key`, `input`, `tries`,
 * `attempt`, `maxTries`, `deadline` and `tags`. If the job has an output, the service answers with it as JSON. The header `idempotency-key` is the same
 * for all tries of a job, and `attempt-deadline` is the instant at which the request is given up.
 *
 * 2xx is success. 408, 425, 429 and 5xx are failed tries, which `retry` may repeat, after `retry-after` at the earliest; so are requests without an
 * answer. Other answers of 4xx, and redirects, fail the job for good.
 *
 * @throws TaskError ARGUMENT_INVALID
 * @example
 * stream.handle(mail, httpRequest({ url: 'http://mailer.internal/tasks', attemptMs: 30_000 }))
 */
export function httpRequest(options: HttpRequestOptions): ExternalHandler {
  const service = checked(options)
  return async (job) => {
    job.signal.throwIfAborted()
    const body = textOfJob(job)
    using time = new AttemptTime(job.signal, service.attemptMs)
    try {
      return await ask(service, job, body, time.signal)
    } catch (error) {
      if (job.signal.aborted) throw job.signal.reason
      throw time.isUp ? late(service, job) : error
    }
  }
}

async function ask(service: Service, job: ExternalJob, body: string, signal: AbortSignal): Promise<TaskDecision> {
  const { url, method } = service
  const response = await unbroken(service, job, () =>
    // A redirect would send the job, and the headers with their secrets, to an address that nobody has written.
    fetch(url, { method, headers: headersOf(service, job, body), body, redirect: 'manual', signal }),
  )
  if (!response.ok) {
    // The connection is of no more use. What the service says may quote the headers of the request, so nobody reads it.
    response.body?.cancel().catch(() => {})
    throw refused(service, job, response)
  }
  const bytes = await unbroken(service, job, () => bytesOf(response, service.responseBytes))
  const answer = `The answer to ${titleOfRequest(service, job)}`
  if (bytes === undefined)
    throw new TaskError('OUTPUT_TOO_LONG', `${answer} is longer than ${service.responseBytes} bytes: raise responseBytes`, {
      url: service.shown,
      mostBytes: service.responseBytes,
    })
  return answered(job, bytes, answer)
}

function headersOf({ headers, attemptMs, sign }: Service, { task: { topic, sequence } }: ExternalJob, body: string): Headers {
  const all = new Headers(headers)
  const id = `${encodeURIComponent(topic)}/${sequence}`
  all.set('content-type', 'application/json')
  all.set('idempotency-key', id)
  all.set('attempt-deadline', new Date(Date.now() + attemptMs).toISOString())
  for (const [name, value] of sign?.(id, body) ?? []) all.set(name, value)
  return all
}

/** Reads a body. To leave the loop closes the connection. @returns undefined if the body is longer than `most` */
async function bytesOf({ body }: Response, most: number): Promise<Uint8Array | undefined> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of body ?? []) {
    length += chunk.length
    if (length > most) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** @throws TaskError REQUEST_FAILED in place of the error of a connection, which says no more than that it failed */
async function unbroken<Result>(service: Service, job: ExternalJob, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
    const { message, code } = cause as NodeJS.ErrnoException
    const title = titleOfRequest(service, job)
    throw new TaskError('REQUEST_FAILED', `${title} failed: ${message || code}`, { url: service.shown }, { cause })
  }
}

function refused(service: Service, job: ExternalJob, { status, headers }: Response): Error {
  const isRedirect = status < 400
  const isPassing = status >= 500 || passingStatuses.has(status)
  const retryAfterMs = isPassing ? askedPauseMs(headers.get('retry-after')) : undefined
  const said = `was answered with ${status} ${STATUS_CODES[status] ?? ''}`.trimEnd()
  const message = `${titleOfRequest(service, job)} ${said}${isRedirect ? ', which is not followed: give the address itself' : ''}`
  const error = new TaskError('REQUEST_FAILED', message, {
    url: service.shown,
    status,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  })
  return isPassing ? error : terminated(error)
}

function late(service: Service, job: ExternalJob): TaskError {
  const { attemptMs, shown } = service
  return new TaskError('TASK_TIMEOUT', `${titleOfRequest(service, job)} was not answered within ${attemptMs} ms`, {
    timeoutMs: attemptMs,
    url: shown,
  })
}

function titleOfRequest({ method, shown }: Service, job: ExternalJob): string {
  return `${method} ${shown} for ${titleOf(job)}`
}

/** The time of one request: its signal is aborted when the time is up, or when the job's is. */
class AttemptTime implements Disposable {
  readonly #own = new AbortController()
  readonly #job: AbortSignal
  readonly #timer: NodeJS.Timeout
  #isUp = false

  constructor(job: AbortSignal, ms: number) {
    this.#job = job
    job.addEventListener('abort', this.#abort)
    this.#timer = setTimeout(() => {
      this.#isUp = true
      this.#abort()
    }, ms)
  }

  get signal(): AbortSignal {
    return this.#own.signal
  }

  get isUp(): boolean {
    return this.#isUp
  }

  readonly #abort = (): void => this.#own.abort();

  [Symbol.dispose](): void {
    clearTimeout(this.#timer)
    this.#job.removeEventListener('abort', this.#abort)
  }
}

function checked(options: HttpRequestOptions): Service {
  checkSecretNames(names, options)
  const { url, headers = {}, method = 'POST', attemptMs = 30_000, responseBytes = 1_048_576, signingSecret } = options
  const { href, origin, pathname } = checkUrl(url)
  if (!methods.includes(method)) throw invalid('method', method, `must be one of ${methods.join(', ')}`)
  checkInteger('attemptMs', attemptMs, 1, longestAttemptMs)
  checkInteger('responseBytes', responseBytes, 1, 16_777_216)
  const sign = signingSecret === undefined ? undefined : webhookSigner(signingSecret)
  const own = sign === undefined ? ownHeaders : new Set([...ownHeaders, ...webhookHeaderNames])
  return { url: href, shown: `${origin}${pathname}`, headers: checkHeaders(headers, own), method, attemptMs, responseBytes, sign }
}

/** The messages show no value, which may have a password even where it is no address. */
function checkUrl(given: string | URL): URL {
  // Any other object would be made a text by code of its own.
  const url = typeof given === 'string' || given instanceof URL ? URL.parse(String(given)) : null
  if (url === null) throw secretInvalid('url', 'must be a whole address, such as http://mailer.internal/tasks')
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw secretInvalid('url', `must begin with http: or https:, not ${cutText(url.protocol, 50)}`)
  if (url.username !== '' || url.password !== '')
    throw secretInvalid(
      'url',
      `must not have a user or a password, as that of ${cutText(url.host, 100)} has: give them as a header`,
    )
  return url
}

function checkHeaders(given: Readonly<Record<string, string>>, own: ReadonlySet<string>): Headers {
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw secretInvalid('headers', 'must be an object of strings')
  const headers = new Headers()
  for (const [name, value] of Object.entries(given)) {
    if (own.has(name.toLowerCase())) throw secretInvalid(`headers.${name}`, 'is set by each request itself')
    if (typeof value !== 'string') throw secretInvalid(`headers.${name}`, 'must be a string')
    try {
      headers.append(name, value)
    } catch {
      throw secretInvalid(`headers.${name}`, 'must be the name and value of a header: HTTP cannot carry some of its characters')
    }
  }
  return headers
}
