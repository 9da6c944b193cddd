/** The HTTP API on every engine: what is asked, who may ask it, and that every answer is as the document says. */
import { taskConsole } from '@taskstream/task-console'
import type { Role } from '@taskstream/task-console'
import { prometheusMetrics } from '@taskstream/task-telemetry/prometheus'
import { useFixture } from '@taskstream/task-testing/suite'
import { beforeAll, describe, expect, test } from 'vitest'
import { canRun, engine } from '../subject.ts'
import type { AnyTransaction } from '../subject.ts'
import { openDocument } from './console-document.ts'
import { apiPaths, makeScene, secrets, Visitor } from './console-scene.ts'
import type { Scene } from './console-scene.ts'

describe.skipIf(!canRun)('the API of the console', () => {
  const fixture = useFixture(engine)
  const visitor = new Visitor(fixture)
  let scene: Scene
  beforeAll(async () => void (scene = await makeScene(fixture)))

  test('answers every route as its document says', async () => {
    const console = visitor.as('reader')
    const document = openDocument(await visitor.json(console, 'openapi.json'))
    const seen = new Set<string>()
    for (const path of apiPaths(scene)) {
      const response = await visitor.get(console, `api/v1/${path}`)
      expect({ path, status: response.status, type: response.headers.get('content-type') }).toEqual({
        path,
        status: 200,
        type: 'application/json',
      })
      const route = document.routeOf(`/api/v1/${path.split('?')[0]}`)
      expect({ path, wrong: document.check(route, 200, await response.json()) }).toEqual({ path, wrong: [] })
      seen.add(route)
    }
    expect(document.routes.filter((route) => route.startsWith('get ') && !seen.has(route))).toEqual([])
  })

  test('says why, with the commands that help', async () => {
    const { topic, failed } = scene
    const why = await visitor.json<{ code: string; answer: string; commands: string[] }>(
      visitor.as('viewer'),
      `topics/${topic}/tasks/${failed}/why`,
    )
    expect(why).toMatchObject({ code: 'failed', commands: [`taskstream redrive ${topic} @${failed}`] })
    expect(why.answer).toContain('TypeError: declined')
  })

  test('shows a payload from the role reader on, and no secret to anybody', async () => {
    const path = `topics/${scene.topic}/tasks/${scene.failed}`
    expect(await visitor.json(visitor.as('viewer'), path)).toMatchObject({ hidden: ['input', 'headers', 'output'] })
    const shown = await visitor.json<{ input: { text: string } }>(visitor.as('admin'), path)
    expect(JSON.parse(shown.input.text)).toEqual({ total: 12, card: '•••', deep: [{ apiToken: '•••' }] })
    for (const role of ['viewer', 'admin'] as const)
      for (const each of apiPaths(scene)) {
        const text = await (await visitor.get(visitor.as(role), `api/v1/${each}`)).text()
        expect(text).not.toMatch(secrets)
      }
    const page = await (await visitor.get(visitor.as('admin'), path)).text()
    expect(page).toContain('•••')
    expect(page).not.toMatch(secrets)
    const redacted = visitor.consoleFor({ name: 'kari', role: 'reader' }, { redact: (_task, field) => `no ${field}` })
    expect(await visitor.json(redacted, path)).toMatchObject({ input: { text: 'no input' } })
  })

  test('is closed unless a program says who may look', async () => {
    for (const path of ['', ...apiPaths(scene).map((each) => `api/v1/${each}`), 'nodes', 'api/v1/openapi.json']) {
      const response = await visitor.get(taskConsole(visitor.database), path)
      expect({ path, status: response.status }).toEqual({ path, status: 403 })
      expect(await response.json()).toMatchObject({ code: 'FORBIDDEN', detail: expect.stringContaining('gives no authorize') })
      expect((await visitor.get(visitor.consoleFor(undefined), path)).status).toBe(403)
    }
    const broken = visitor.consoleFor({ name: 'kari', role: 'owner' as Role }, { onError: () => {} })
    expect((await visitor.get(broken, 'api/v1/topics')).status).toBe(500)
  })

  test('answers every role on every route that needs no more', async () => {
    for (const role of ['viewer', 'reader', 'operator', 'admin'] as const)
      for (const path of apiPaths(scene))
        expect({ role, path, status: (await visitor.get(visitor.as(role), `api/v1/${path}`)).status }).toEqual({
          role,
          path,
          status: 200,
        })
  })

  test('tells somebody who may see some topics nothing of the others', async () => {
    await fixture.nextTopic()
    const other = fixture.topic
    await fixture.push('mine')
    const console = visitor.consoleFor({ name: 'ola', role: 'admin', topics: [other] })
    for (const path of apiPaths(scene)) {
      const response = await visitor.get(console, `api/v1/${path}`)
      const text = await response.text()
      expect({
        path,
        tells: response.status === 200 && (text.includes('inv-') || text.includes('declined') || text.includes('nightly')),
      }).toEqual({
        path,
        tells: false,
      })
    }
    expect((await visitor.get(console, `api/v1/topics/${scene.topic}/tasks`)).status).toBe(404)
    expect(await visitor.json(console, 'topics')).toMatchObject({ total: 1, topics: [{ topic: other }] })
  })

  test('has room for what somebody may see, whatever others have done elsewhere', async () => {
    const { tasks, topic: elsewhere, commit } = fixture
    await fixture.nextTopic()
    const { topic } = fixture
    await commit((tx) => tasks.record(tx, { action: 'pause', topic, via: 'test', count: 0 }))
    await commit(async (tx) => {
      for (let index = 0; index < 5; index++) await tasks.record(tx, { action: 'pause', topic: elsewhere, via: 'test', count: 0 })
    })
    const narrow = visitor.consoleFor({ name: 'ola', role: 'admin', topics: [topic] })
    expect(await visitor.json(narrow, 'audit?size=3')).toMatchObject({
      actions: [{ action: 'pause', topic }],
      bounded: { reached: false },
    })
  })

  test('says that something of another topic is waited for, and not what it is', async () => {
    const { tasks, topic: needed, commit } = fixture
    const [secret] = await fixture.push('secret')
    await fixture.nextTopic()
    const { topic } = fixture
    const [waiting] = await fixture.push({ identifier: 'waiting', suspended: true })
    const on = { topic: needed, sequence: secret!.sequence }
    await commit((tx) => tasks.depend(tx, { topic, sequence: waiting!.sequence }, [{ need: 'n', on }]))
    const path = `topics/${topic}/tasks/${waiting!.sequence}/why`
    const narrow = visitor.consoleFor({ name: 'ola', role: 'admin', topics: [topic] })
    const told = await visitor.json(narrow, path)
    expect(told).toMatchObject({
      code: 'awaits',
      by: [],
      commands: [],
      answer: expect.stringContaining('a task of another topic'),
    })
    expect(JSON.stringify(told)).not.toMatch(/secret/)
    expect(JSON.stringify(told)).not.toContain(needed)
    expect(await visitor.json(visitor.as('admin'), path)).toMatchObject({ by: [on], answer: expect.stringContaining('secret') })
  })

  test('names what is wrong with a question, and what may have been meant', async () => {
    const console = visitor.as('admin')
    const document = openDocument(await visitor.json(console, 'openapi.json'))
    const asked: readonly (readonly [path: string, status: number, code: string, more?: object])[] = [
      [`topics/${scene.topic}/tasks?size=500`, 400, 'ARGUMENT_INVALID', { data: { argument: 'size' } }],
      [`topics/${scene.topic}/tasks?state=faild`, 400, 'ARGUMENT_INVALID', { data: { argument: 'state' } }],
      [`topics/${scene.topic}/tasks?stat=failed`, 400, 'ARGUMENT_INVALID', { suggestion: 'state' }],
      [`topics/${scene.topic}/tasks?after=1&before=2`, 400, 'ARGUMENT_INVALID', {}],
      [`topics/${scene.topic}/tasks?after=-1`, 400, 'ARGUMENT_INVALID', {}],
      [`topics/${scene.topic}x/tasks`, 404, 'TOPIC_UNKNOWN', { suggestion: scene.topic }],
      [`topics/a%00b`, 400, 'ARGUMENT_INVALID', {}],
      [`topics/${scene.topic}/tasks/999999999`, 404, 'TASK_UNKNOWN', {}],
      ['errors/none', 404, 'ERROR_UNKNOWN', {}],
      ['nodes/nobody', 404, 'NODE_UNKNOWN', {}],
      ['timers/system/never', 404, 'TIMER_UNKNOWN', {}],
      ['find', 400, 'ARGUMENT_INVALID', { data: { argument: 'q' } }],
      ['nothing', 404, 'ROUTE_UNKNOWN', {}],
    ]
    for (const [path, status, code, more] of asked) {
      const response = await visitor.get(console, `api/v1/${path}`)
      const answer = (await response.json()) as object
      expect({ path, status: response.status, type: response.headers.get('content-type') }).toEqual({
        path,
        status,
        type: 'application/problem+json',
      })
      expect(answer).toMatchObject({ status, code, ...more })
      expect(document.checkProblem(answer)).toEqual([])
    }
  })

  test('tells metrics if it is given some, to those who see all topics', async () => {
    using metrics = prometheusMetrics<AnyTransaction>({
      fleet: { tasks: visitor.database.repository, transactions: visitor.database.transactions },
    })
    expect((await visitor.get(visitor.as('admin'), 'metrics')).status).toBe(404)
    for (const role of ['viewer', 'admin'] as const) {
      const response = await visitor.get(visitor.as(role, { metrics }), 'metrics')
      expect(response.status).toBe(200)
      expect(response.headers.get('content-type')).toContain('version=0.0.4')
      expect(await response.text()).toContain(`taskstream_topic_tasks{messaging_destination_name="${scene.topic}"`)
    }
    const openMetrics = await visitor.get(visitor.as('viewer', { metrics }), 'metrics', {
      accept: 'application/openmetrics-text; version=1.0.0',
    })
    expect(await openMetrics.text()).toMatch(/# EOF\n$/)
    const some = visitor.consoleFor({ name: 'ola', role: 'admin', topics: [scene.topic] }, { metrics })
    expect((await visitor.get(some, 'metrics')).status).toBe(403)
    expect((await visitor.get(visitor.consoleFor(undefined, { metrics }), 'metrics')).status).toBe(403)
    expect((await visitor.get(taskConsole({ ...visitor.database, metrics }), 'metrics')).status).toBe(403)
  })

  test('is alive without a database, and ready with one', async () => {
    const closed = taskConsole(visitor.database)
    expect(await (await visitor.get(closed, 'livez')).json()).toEqual({ status: 'alive' })
    expect(await (await visitor.get(closed, 'readyz')).json()).toEqual({ status: 'ready' })
    const broken = taskConsole({
      ...visitor.database,
      transactions: async () => {
        throw new Error('connect ECONNREFUSED db-1.internal:5432, user shop, password hunter22')
      },
      onError: () => {},
    })
    expect((await visitor.get(broken, 'livez')).status).toBe(200)
    const unready = await visitor.get(broken, 'readyz')
    expect(unready.status).toBe(503)
    expect(await unready.text()).not.toMatch(/hunter22|db-1/)
  })
})
