import { checkOptions, checkText, invalid, isTaskError, nearest } from '@taskstream/task-api'
import type { Execution, TransactionSource } from '@taskstream/task-api'
import { checkSchema } from '@taskstream/task-sql'
import type { SqlTaskRepository } from '@taskstream/task-sql'
import { Hono } from 'hono'
import type { Context as HonoContext, MiddlewareHandler } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { etag } from 'hono/etag'
import { secureHeaders } from 'hono/secure-headers'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import { documentOf } from './api/openapi.ts'
import { readOverview } from './api/overview.ts'
import type { Overview } from './api/overview.ts'
import { bodyOf, formOf, givenOf } from './api/given.ts'
import type { Asked } from './api/route.ts'
import { routes } from './api/routes.ts'
import { isAccess, may, sees } from './core/access.ts'
import type { Access, Role } from './core/access.ts'
import { unknownTopic } from './core/context.ts'
import { preferencesIn } from './core/preferences.ts'
import type { AnyTransaction } from './core/context.ts'
import { checkTemplate } from './core/link-template.ts'
import { answerOf, Problem, problemOf } from './core/problem.ts'
import { readWithin } from './core/read.ts'
import { Snapshot } from './core/snapshot.ts'
import type { TaskConsoleOptions } from './options.ts'
import { assets } from './pages/assets.ts'
import { pages, problemPage } from './pages/pages.ts'
import { savedSettings } from './pages/settings.ts'
import type { Surroundings } from './pages/layout.ts'

export interface TaskConsole {
  /**
   * Answers a request. It never throws.
   *
   * @param environment what `authorize` is given beside the request
   */
  readonly fetch: (request: Request, environment?: unknown) => Promise<Response>
  readonly basePath: string
}

/** A statement that takes longer is ended, where the database can do that. */
const mostMs = 2_000

/** Of a body, in bytes. */
const mostBody = 512 * 1_024

type App = { readonly Bindings: { readonly given?: unknown }; readonly Variables: { asked: Asked } }

/**
 * Makes the console and its HTTP API: a function from requests to responses, which any server can mount.
 *
 * @throws TaskError ARGUMENT_INVALID
 * @example
 * const console = taskConsole({ repository: tasks, transactions, basePath: '/ops/tasks', authorize })
 * hono.all('/ops/tasks/*', (context) => console.fetch(context.req.raw))
 */
export function taskConsole<Transaction>(options: TaskConsoleOptions<Transaction>): TaskConsole {
  const basePath = check(options)
  const tasks = options.repository as unknown as SqlTaskRepository<AnyTransaction, Execution>
  const transactions = options.transactions as TransactionSource<AnyTransaction>
  const reading = (options.reading ?? options.transactions) as TransactionSource<AnyTransaction>
  const read = readWithin(tasks, reading, mostMs)
  const base: Omit<Asked, 'access'> = {
    tasks,
    transactions: reading,
    writing: transactions,
    via: 'api',
    read,
    overview: () => overview.get(),
    redact: options.redact ?? ((_task, _field, text) => text),
    readOnly: options.readOnly ?? false,
    environment: options.environment,
  }
  const overview = new Snapshot<Overview>(() => readOverview({ ...base, access: { name: 'console', role: 'admin' } }))
  const { onError = (error) => globalThis.console.error(error) } = options

  const app = new Hono<App>({ getPath: (request) => pathWithin(basePath, request) })
  app.use(securely)
  app.use(etag())
  app.use(bodyLimit({ maxSize: mostBody, onError: tooLong }))
  if (options.hosts) app.use(onlyHosts(new Set(options.hosts)))
  app.get('/livez', (c) => c.json({ status: 'alive' }))
  app.get('/readyz', async (c) => {
    try {
      await read(tasks.verb(({ dialect }) => checkSchema(dialect)) as (transaction: AnyTransaction) => unknown)
      return c.json({ status: 'ready' })
    } catch (error) {
      const { code, message } = problemOf(error)
      return c.json({ status: 'not ready', code, detail: message }, 503)
    }
  })
  for (const { name, type, text } of assets)
    app.get(`/assets/${name}`, (c) =>
      c.body(text, 200, { 'content-type': type, 'cache-control': 'public, max-age=31536000, immutable' }),
    )
  app.use(async (c, next) => {
    c.set('asked', {
      ...base,
      via: c.req.path.startsWith('/api/') ? 'api' : 'console',
      access: await accessOf(options, c.req.raw, c.env?.given),
    })
    checkOrigin(c)
    try {
      await next()
    } finally {
      if (c.req.method !== 'GET') overview.forget()
    }
    c.header('cache-control', 'no-store')
  })
  const { metrics } = options
  if (metrics)
    app.get('/metrics', needing('viewer'), (c) => {
      // They are of all topics.
      if (!sees(c.get('asked').access, undefined))
        throw new Problem('FORBIDDEN', 403, 'Metrics tell of all topics, and you may see some.')
      return metrics.answer(c.req.raw)
    })
  app.get('/api/v1/openapi.json', (c) => c.json(documentOf(routes)))
  for (const { method, path, role, handle } of routes)
    app.on(method, `/api/v1${path}`, needing(role), async (c) =>
      c.json((await handle(c.get('asked'), givenOf(c), method === 'GET' ? undefined : await bodyOf(c))) as object),
    )
  for (const { method, path, role, view } of pages)
    app.on(method, path, needing(role), async (c) =>
      c.html(
        await view(
          c.get('asked'),
          method === 'GET' ? givenOf(c) : { ...(await formOf(c)), ...givenOf(c) },
          surroundingsOf(c, options),
        ),
      ),
    )
  app.post('/settings', needing('viewer'), async (c) => {
    const { cookie, location } = savedSettings(await formOf(c))
    return new Response(null, { status: 303, headers: { location, 'set-cookie': cookie } })
  })
  app.all('*', (c) => {
    if (c.req.method === 'GET' || c.req.method === 'HEAD')
      throw new Problem(
        'ROUTE_UNKNOWN',
        404,
        'There is no such page or route.',
        { path: c.req.path.slice(0, 200) },
        'api/v1/openapi.json',
      )
    throw new Problem('METHOD_UNKNOWN', 405, `Nothing here is done by ${c.req.method.slice(0, 20)}.`)
  })
  app.onError(async (error, c) => {
    const problem = await withMeant(problemOf(error), c.get('asked'), error)
    if (problem.status === 500) onError(error)
    const status = problem.status as ContentfulStatusCode
    const answer = answerOf(problem)
    c.header('cache-control', 'no-store')
    if (status === 503) c.header('retry-after', '5')
    if (!c.req.path.startsWith('/api/') && c.req.header('accept')?.includes('text/html'))
      return c.html(problemPage(answer, surroundingsOf(c, options)), status)
    return c.body(JSON.stringify(answer), status, { 'content-type': 'application/problem+json' })
  })
  return {
    basePath,
    fetch: async (request, environment) => {
      const { pathname } = new URL(request.url)
      // Links are relative, so the first page has to end in a slash.
      if (pathname === basePath && basePath !== '') {
        const location = `${basePath.slice(basePath.lastIndexOf('/') + 1)}/`
        return new Response(null, { status: 307, headers: { location: `./${location}` } })
      }
      return app.fetch(request, { given: environment })
    },
  }
}

/** @returns the base path without a slash at its end */
function check<Transaction>(options: TaskConsoleOptions<Transaction>): string {
  checkOptions('taskConsole', options, {
    repository: true,
    transactions: true,
    reading: true,
    basePath: true,
    authorize: true,
    hosts: true,
    readOnly: true,
    environment: true,
    redact: true,
    metrics: true,
    traceUrl: true,
    logsUrl: true,
    onError: true,
  })
  const { basePath = '/', environment, traceUrl, logsUrl } = options
  if (!/^(\/[\w.~-]+)*\/?$/.test(basePath)) throw invalid('basePath', basePath, 'must be a path such as /ops/tasks')
  if (environment !== undefined) checkText('environment', environment, 40)
  if (traceUrl !== undefined) checkTemplate('traceUrl', traceUrl, ['traceId'])
  if (logsUrl !== undefined) checkTemplate('logsUrl', logsUrl, ['traceId', 'sequence', 'topic', 'attempt'])
  return basePath.replace(/\/$/, '')
}

function pathWithin(basePath: string, { url }: Request): string {
  const { pathname } = new URL(url)
  // Nothing has this path, so it is not found.
  return pathname.startsWith(`${basePath}/`) ? pathname.slice(basePath.length) : '/outside'
}

const securely: MiddlewareHandler = secureHeaders({
  contentSecurityPolicy: {
    defaultSrc: ["'none'"],
    styleSrc: ["'self'"],
    scriptSrc: ["'self'"],
    connectSrc: ["'self'"],
    imgSrc: ['data:'],
    formAction: ["'self'"],
    baseUri: ["'none'"],
    frameAncestors: ["'none'"],
    requireTrustedTypesFor: ["'script'"],
    trustedTypes: ['taskstream'],
  },
  // Under no-referrer a browser sends forms with the origin null.
  referrerPolicy: 'same-origin',
  xFrameOptions: 'DENY',
  // Whether a host is reached by https alone is for its server to say.
  strictTransportSecurity: false,
})

function onlyHosts(hosts: ReadonlySet<string>): MiddlewareHandler {
  return async (c, next) => {
    if (!hosts.has(hostOf(c)))
      throw new Problem('HOST_UNKNOWN', 403, 'The console does not answer for this host.', { host: hostOf(c).slice(0, 200) })
    await next()
  }
}

function hostOf(c: HonoContext): string {
  return (c.req.header('host') ?? new URL(c.req.url).host).toLowerCase()
}

/** Refuses what a page of somebody else has a browser send. A token in a header is no cookie: only its owner sends it. */
function checkOrigin(c: HonoContext): void {
  if (c.req.method === 'GET' || c.req.method === 'HEAD' || /^Bearer /i.test(c.req.header('authorization') ?? '')) return
  const [site, origin] = [c.req.header('sec-fetch-site'), c.req.header('origin')]
  // A browser leaves the first one out on a host that is not reached by https.
  const isOwn = site === undefined ? URL.canParse(origin ?? '') && new URL(origin!).host === hostOf(c) : site === 'same-origin'
  if (!isOwn)
    throw new Problem(
      'ORIGIN_REFUSED',
      403,
      'Only the pages of this console may write, or a program with a bearer token, or with the header Sec-Fetch-Site: same-origin.',
    )
}

async function accessOf<Transaction>(
  { authorize }: TaskConsoleOptions<Transaction>,
  request: Request,
  environment: unknown,
): Promise<Access> {
  if (!authorize)
    throw new Problem(
      'FORBIDDEN',
      403,
      'This console is closed: the program that mounts it gives no authorize, which says who may look.',
      {},
      'taskConsole({ …, authorize })',
    )
  const access = await authorize(request, environment)
  if (!access) throw new Problem('FORBIDDEN', 403, 'You may not look here.')
  if (!isAccess(access)) throw new TypeError('authorize must return { name, role, topics? } or undefined')
  return access
}

function needing(role: Role): MiddlewareHandler<App> {
  return async (c, next) => {
    const { access } = c.get('asked')
    if (!may(access.role, role))
      throw new Problem('FORBIDDEN', 403, `This needs the role ${role}, and yours is ${access.role}.`, {
        needed: role,
        role: access.role,
      })
    await next()
  }
}

function tooLong(): never {
  throw new Problem('BODY_TOO_LONG', 413, `A body has at most ${mostBody} bytes.`, { mostBytes: mostBody })
}

function surroundingsOf<Transaction>(c: HonoContext<App>, options: TaskConsoleOptions<Transaction>): Surroundings {
  const { pathname, search } = new URL(c.req.url)
  const depth = c.req.path.split('/').length - 2
  return {
    path: c.req.path,
    query: search,
    root: depth <= 0 ? './' : '../'.repeat(depth),
    here: pathname,
    environment: options.environment,
    access: c.get('asked')?.access,
    preferences: preferencesIn(c.req.header('cookie')),
    traceUrl: options.traceUrl,
    logsUrl: options.logsUrl,
  }
}

/** Adds the topic that was probably meant, of those that this one may see. */
async function withMeant(problem: Problem, asked: Asked | undefined, error: unknown): Promise<Problem> {
  if (problem.code !== 'TOPIC_UNKNOWN' || !asked || problem.suggestion !== undefined) return problem
  const topic = isTaskError(error) || error instanceof Problem ? String(error.data['topic']) : ''
  const unknown = unknownTopic(topic)
  try {
    const all: readonly string[] = await asked.read((transaction) => asked.tasks.topics(transaction))
    const meant = nearest(
      topic,
      all.filter((each) => asked.access.topics?.includes(each) ?? true),
    )
    return meant === undefined ? unknown : new Problem('TOPIC_UNKNOWN', 404, unknown.message, unknown.data, meant)
  } catch {
    // The hint is not worth another error.
    return unknown
  }
}
