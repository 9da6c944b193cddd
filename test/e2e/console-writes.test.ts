/** What operators do by the API, on every engine: seen first, kept in the audit, undone. */
import { TaskDecision } from '@taskstream/task-api'
import type { FilterState } from '@taskstream/task-api'
import { periodicTasks } from '@taskstream/task-scheduler'
import { useFixture } from '@taskstream/task-testing/suite'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { canRun, engine } from '../subject.ts'
import { openDocument } from './console-document.ts'
import type { ApiDocument, Opened } from './console-document.ts'
import { Visitor } from './console-scene.ts'

const roles = ['viewer', 'reader', 'operator', 'admin'] as const

interface Answer {
  readonly code?: string
  readonly count?: number
  readonly asOf?: string
  readonly to?: number
  readonly states?: Readonly<Partial<Record<FilterState, number>>>
  readonly audit?: string
  readonly more?: boolean
  readonly changed?: boolean
  readonly undone?: number
  readonly taken?: number
}

describe.skipIf(!canRun)('actions by the API', () => {
  const fixture = useFixture(engine, { topic: { keyed: true } })
  const visitor = new Visitor(fixture)
  const used = new Set<string>()
  let document: Opened
  let described: ApiDocument
  beforeEach(async () => {
    described = await visitor.json(visitor.as('viewer'), 'openapi.json')
    document = openDocument(described)
  })

  /** Asks as an admin, and checks the answer against the document. */
  const act = async (
    method: string,
    path: string,
    body: unknown = {},
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Answer> => {
    const { status, answer } = await visitor.send<Answer>(visitor.as('admin'), method, path, body, headers)
    const route = document.routeOf(`/api/v1/${path}`, method.toLowerCase())
    used.add(route)
    expect({ path, status, wrong: document.check(route, status, answer), answer }).toEqual({
      path,
      status: 200,
      wrong: [],
      answer,
    })
    return answer
  }
  const fail = async (count: number): Promise<void> => {
    await fixture.push(...Array.from({ length: count }, (_, index) => `t${index}`))
    await fixture.complete(await fixture.poll(count), TaskDecision.failure(new TypeError('no total')))
  }
  const path = (): string => `topics/${fixture.topic}`

  test('redrive what failed by one error: seen, one tried, then the rest, then undone', async () => {
    await fail(5)
    const [group] = await fixture.commit((transaction) => fixture.tasks.errors(transaction, { topic: fixture.topic }))
    const chosen = { fingerprint: group!.fingerprint }
    const seen = await act('POST', `${path()}/redrive`, { ...chosen, dryRun: true })
    expect(seen).toMatchObject({ count: 5, states: { failed: 5 } })
    expect(await fixture.states()).toEqual({ failed: 5 })
    const one = await act('POST', `${path()}/redrive`, { ...chosen, try: 1, asOf: seen.asOf, note: 'after the fix' })
    expect(one).toMatchObject({ count: 1, more: false })
    expect(await fixture.states()).toEqual({ failed: 4, ready: 1 })
    const rest = await act('POST', `${path()}/redrive`, { ...chosen, asOf: seen.asOf, limit: seen.count })
    expect(rest).toMatchObject({ count: 4 })
    await fixture.poll(1)
    expect(await act('POST', `audit/${rest.audit}/undo`, { dryRun: true })).toMatchObject({ undone: 3, taken: 1 })
    const undone = await act('POST', `audit/${rest.audit}/undo`)
    expect(undone).toMatchObject({ undone: 3, taken: 1, more: false })
    expect((await visitor.send<Answer>(visitor.as('admin'), 'POST', `audit/${rest.audit}/undo`)).answer).toMatchObject({
      code: 'ACTION_UNDONE',
    })
    const { actions } = await visitor.json<{
      actions: { action: string; actor: string; via: string; note?: string; count: number }[]
    }>(visitor.as('viewer'), `audit?topic=${fixture.topic}`)
    expect(actions.at(-1)).toMatchObject({ action: 'redrive', actor: 'kari', via: 'api', note: 'after the fix', count: 1 })
  })

  test('never do more than was seen', async () => {
    await fail(2)
    const seen = await act('POST', `${path()}/redrive`, { dryRun: true })
    await fail(3)
    // What has failed since is not meant, and neither is more than was counted.
    expect(await act('POST', `${path()}/redrive`, { asOf: seen.asOf, to: seen.to, limit: 1 })).toMatchObject({ count: 1 })
    expect(await act('POST', `${path()}/redrive`, { asOf: seen.asOf })).toMatchObject({ count: 1 })
    expect(await fixture.states()).toEqual({ ready: 2, failed: 3 })
    const unseen = await visitor.send<Answer>(visitor.as('admin'), 'POST', `${path()}/redrive`, {})
    expect(unseen).toMatchObject({ status: 400, answer: { code: 'ARGUMENT_INVALID' } })
  })

  test('end with the error of a portion that does nothing, and do not ask to be sent again', async () => {
    await fail(3)
    const seen = await act('POST', `${path()}/redrive`, { dryRun: true })
    const own = await act('POST', `${path()}/redrive`, { asOf: seen.asOf, limit: 1 })
    const goOn = (id: string, of = visitor.as('operator')): Promise<{ status: number; answer: Answer }> =>
      visitor.send<Answer>(of, 'POST', `${path()}/redrive`, { asOf: seen.asOf, after: { id, portions: 1, done: 1 } })
    for (const [id, status, code] of [
      ['nobody', 404, 'ACTION_UNKNOWN'],
      ['a\0', 400, 'ARGUMENT_INVALID'],
    ] as const)
      expect(await goOn(id)).toMatchObject({ status, answer: { code } })
    const another = visitor.consoleFor({ name: 'eve', role: 'operator' })
    expect(await goOn(own.audit!, another)).toMatchObject({ status: 400, answer: { code: 'ARGUMENT_INVALID' } })
    expect(await fixture.states()).toEqual({ ready: 1, failed: 2 })
    expect(await goOn(own.audit!)).toMatchObject({ status: 200, answer: { count: 3, more: false, audit: own.audit } })
  })

  test('give two operators who do the same together what there is, once', async () => {
    await fail(20)
    const seen = await act('POST', `${path()}/redrive`, { dryRun: true })
    const both = await Promise.all(
      [1, 2].map(() => visitor.send<Answer>(visitor.as('operator'), 'POST', `${path()}/redrive`, { asOf: seen.asOf, limit: 20 })),
    )
    expect(both.map(({ status }) => status)).toEqual([200, 200])
    expect(both.reduce((sum, { answer }) => sum + answer.count!, 0)).toBe(20)
  })

  test('redrive, cancel and run one task at once', async () => {
    await fail(1)
    const [task] = await fixture.page()
    expect(await act('POST', `${path()}/tasks/${task!.sequence}/redrive`, { dryRun: true })).toMatchObject({ count: 1 })
    expect(await act('POST', `${path()}/tasks/id:t0/redrive`)).toMatchObject({ count: 1 })
    const [delayed] = await fixture.push({ identifier: 'late', delayMs: 3_600_000 })
    const later = { schedule: { delayMs: 7_200_000, priority: 4 } }
    expect(await act('POST', `${path()}/tasks/${delayed!.sequence}/reschedule`, later)).toMatchObject({ count: 1 })
    expect(await fixture.page()).toMatchObject([{}, { priority: 4 }])
    expect(await act('POST', `${path()}/tasks/${delayed!.sequence}/run-now`)).toMatchObject({ count: 1 })
    expect(await fixture.states()).toEqual({ ready: 2 })
    expect(await act('POST', `${path()}/tasks/${delayed!.sequence}/cancel`, { note: 'not wanted' })).toMatchObject({ count: 1 })
    expect(await fixture.states()).toEqual({ ready: 1, filtered: 1 })
  })

  test('cancel, run and purge many', async () => {
    await fixture.push(...['a', 'b', 'c'].map((identifier) => ({ identifier, delayMs: 3_600_000 })))
    const schedule = { due: new Date(Date.now() + 60_000).toISOString() }
    const later = await act('POST', `${path()}/reschedule`, { schedule, dryRun: true })
    expect(later).toMatchObject({ count: 3, states: { delayed: 3 } })
    const moved = await act('POST', `${path()}/reschedule`, { schedule, asOf: later.asOf, limit: later.count })
    expect((await fixture.page()).map(({ due }) => due?.toISOString())).toEqual(Array.from({ length: 3 }, () => schedule.due))
    expect(await act('POST', `audit/${moved.audit}/undo`)).toMatchObject({ undone: 3 })
    const soon = await act('POST', `${path()}/run-now`, { dryRun: true })
    expect(await act('POST', `${path()}/run-now`, { asOf: soon.asOf })).toMatchObject({ count: 3 })
    const unwanted = await act('POST', `${path()}/cancel`, { filter: { identifier: 'a' }, dryRun: true })
    expect(await act('POST', `${path()}/cancel`, { filter: { identifier: 'a' }, asOf: unwanted.asOf })).toMatchObject({
      count: 1,
    })
    const old = await act('POST', `${path()}/purge`, { filter: { states: ['filtered'] }, dryRun: true })
    expect(old).toMatchObject({ count: 1 })
    expect(
      await act('POST', `${path()}/purge`, { filter: { states: ['filtered'] }, asOf: old.asOf, limit: old.count }),
    ).toMatchObject({ count: 1 })
    expect(await fixture.states()).toEqual({ ready: 2 })
  })

  test('pause a topic, and resume it by undoing that', async () => {
    const paused = await act('PATCH', path(), { active: false, note: 'the bank is down' })
    expect(paused.changed).toBe(true)
    const { topic } = fixture
    const activations = await fixture.commit((transaction) => fixture.tasks.activations(transaction))
    expect(activations.get(topic)).toMatchObject({ active: false, actor: 'kari', note: 'the bank is down' })
    expect(await act('POST', `audit/${paused.audit}/undo`)).toMatchObject({ undone: 1 })
    expect((await fixture.commit((transaction) => fixture.tasks.activations(transaction))).get(topic)).toMatchObject({
      active: true,
    })
  })

  test('make a topic, push to it, and destroy it', async () => {
    const topic = `made-${fixture.topic}`
    expect(await act('POST', 'topics', { topic, keyed: true })).toMatchObject({ changed: true })
    expect(await act('POST', 'topics', { topic })).toMatchObject({ changed: false })
    const push = { tasks: [{ identifier: 'a', input: '{}', priority: 3 }] }
    const key = { 'idempotency-key': 'order-1' }
    const seen = await act('POST', `topics/${topic}/tasks`, { ...push, dryRun: true }, key)
    expect(seen).toEqual({ dryRun: true, tasks: [{ topic, identifier: 'a', outcome: 'created' }] })
    const pushed = await act('POST', `topics/${topic}/tasks`, push, key)
    expect(pushed).toMatchObject({ tasks: [{ outcome: 'created' }] })
    const again = await act('POST', `topics/${topic}/tasks`, push, key)
    expect(again).toMatchObject({ tasks: [{ outcome: 'duplicate' }] })
    expect(again).not.toHaveProperty('audit')
    expect(await act('POST', `audit/${pushed.audit}/undo`)).toMatchObject({ undone: 1, taken: 0 })
    const wrong = await visitor.send(visitor.as('admin'), 'DELETE', `topics/${topic}`, { confirm: 'another' })
    expect(wrong).toMatchObject({ status: 400, answer: { data: { argument: 'confirm' } } })
    expect(await act('DELETE', `topics/${topic}`, { confirm: topic })).toMatchObject({ changed: true })
    expect((await visitor.get(visitor.as('viewer'), `api/v1/topics/${topic}/tasks`)).status).toBe(404)
  })

  test('quiet a process, and run, pause and resume a timer', async () => {
    const { topic } = fixture
    const worker = await fixture.owner('worker-3')
    await fixture.commit((transaction) =>
      worker.report(transaction, { kind: 'node', host: 'h', pid: 1, leaseMs: 30_000, topics: [{ topic }] }),
    )
    expect(await act('POST', `nodes/${encodeURIComponent(worker.owner)}/quiet`, { note: 'a deploy' })).toMatchObject({
      changed: true,
    })
    expect((await visitor.send(visitor.as('admin'), 'POST', 'nodes/nobody/quiet')).status).toBe(404)
    await fixture.commit((transaction) =>
      periodicTasks(fixture.tasks).schedule(transaction, { id: topic, timer: 'hourly', topic }),
    )
    expect(await act('POST', `timers/system/${topic}/pause`)).toMatchObject({ changed: true })
    expect(await act('POST', `timers/system/${topic}/resume`)).toMatchObject({ changed: true })
    expect(await act('POST', `timers/system/${topic}/run`, { note: 'now' })).toMatchObject({ changed: true })
    expect(await fixture.states()).toEqual({ ready: 1 })
  })

  test('are refused to whoever has too small a role, on every route', async () => {
    for (const [template, methods] of Object.entries(described.paths))
      for (const [method, operation] of Object.entries(methods)) {
        if (method === 'get') continue
        const asked = template.slice('/api/v1/'.length).replaceAll(/\{\w+\}/g, 'none')
        for (const role of roles) {
          const { status } = await visitor.send(visitor.as(role), method.toUpperCase(), asked, '{"surely":"refused"}')
          const suffices = roles.indexOf(role) >= roles.indexOf(operation['x-role'] as (typeof roles)[number])
          expect({ method, asked, role, status }).toEqual({ method, asked, role, status: suffices ? 400 : 403 })
        }
        const readOnly = await visitor.send(visitor.as('admin', { readOnly: true }), method.toUpperCase(), asked, '{}')
        expect({ method, asked, status: [400, 405].includes(readOnly.status) }).toEqual({ method, asked, status: true })
      }
    await fail(1)
    const readOnly = visitor.as('admin', { readOnly: true })
    expect(await visitor.send(readOnly, 'POST', `${path()}/tasks/id:t0/redrive`)).toMatchObject({
      status: 405,
      answer: { code: 'READ_ONLY' },
    })
    const narrow = visitor.consoleFor({ name: 'ola', role: 'admin', topics: ['another'] })
    for (const [method, asked, body] of [
      ['POST', `${path()}/redrive`, { dryRun: true }],
      ['POST', `${path()}/tasks/id:t0/redrive`, {}],
      ['PATCH', path(), { active: false }],
      ['DELETE', path(), { confirm: fixture.topic }],
      ['POST', `${path()}/tasks`, { tasks: [{ identifier: 'a' }] }],
      ['POST', `${path()}/tasks`, { tasks: [{ identifier: 'a' }], dryRun: true }],
      ['POST', `${path()}/reschedule`, { schedule: { delayMs: 0 }, dryRun: true }],
      ['POST', 'topics', { topic: 'new' }],
      ['POST', 'nodes/any/quiet', {}],
    ] as const)
      expect({ asked, refused: [403, 404].includes((await visitor.send(narrow, method, asked, body)).status) }).toEqual({
        asked,
        refused: true,
      })
    expect(await fixture.states()).toEqual({ failed: 1 })
  })

  test('refuse a body that is out of range, of another form, or too long', async () => {
    const console = visitor.as('admin')
    for (const [asked, body, headers, status] of [
      [`${path()}/redrive`, { dryRun: 'yes' }, {}, 400],
      [`${path()}/redrive`, { dryrun: true }, {}, 400],
      [`${path()}/redrive`, { asOf: 'yesterday' }, {}, 400],
      [`${path()}/redrive`, { filter: { states: ['ready'] }, dryRun: true }, {}, 400],
      [`${path()}/redrive`, { try: 0, dryRun: true }, {}, 400],
      [`${path()}/redrive`, '{', {}, 400],
      [`${path()}/redrive`, 'null', {}, 400],
      [`${path()}/redrive`, { dryRun: true }, { 'content-type': 'text/plain' }, 400],
      [`${path()}/redrive`, { note: 'x'.repeat(600_000) }, {}, 413],
      [`${path()}/reschedule`, { dryRun: true }, {}, 400],
      [`${path()}/reschedule`, { schedule: {}, dryRun: true }, {}, 400],
      [`${path()}/reschedule`, { schedule: { delayMs: -1 }, dryRun: true }, {}, 400],
      [`${path()}/reschedule`, { schedule: { priority: 40_000 }, dryRun: true }, {}, 400],
      [`${path()}/redrive`, { schedule: { delayMs: 1 }, dryRun: true }, {}, 400],
      [`${path()}/tasks`, { tasks: [] }, {}, 400],
      [`${path()}/tasks`, { tasks: Array.from({ length: 1_001 }, () => ({ identifier: 'a' })) }, {}, 400],
      [`${path()}/tasks`, { tasks: [{ identifier: 'a\0' }] }, {}, 400],
      ['audit/none/undo', {}, {}, 404],
    ] as const) {
      const { status: found, answer } = await visitor.send(console, 'POST', asked, body, headers)
      expect({ asked, body: JSON.stringify(body).slice(0, 80), status: found, wrong: document.checkProblem(answer) }).toEqual({
        asked,
        body: JSON.stringify(body).slice(0, 80),
        status,
        wrong: [],
      })
    }
  })

  afterAll(() => expect(document.routes.filter((route) => !route.startsWith('get ') && !used.has(route))).toEqual([]))
})
