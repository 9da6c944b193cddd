/** Forms of the console as a browser without scripts sends them: what would be done, what was done, and how pages look. */
import { useFixture } from '@taskstream/task-testing/suite'
import { describe, expect, test } from 'vitest'
import { canRun, engine } from '../subject.ts'
import { Visitor } from './console-scene.ts'

/** The hidden fields of the form that confirms. */
function confirmationIn(page: string): Record<string, string> {
  const form = /<form method="post"[^]*?<\/form>/.exec(page)![0]
  const unescaped = (text: string): string => text.replaceAll('&quot;', '"').replaceAll('&amp;', '&')
  return Object.fromEntries(
    [...form.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g)].map(([, name, value]) => [
      name!,
      unescaped(value!),
    ]),
  )
}

describe.skipIf(!canRun)('the forms of the console', () => {
  const fixture = useFixture(engine)
  const visitor = new Visitor(fixture)
  const post = async (
    path: string,
    fields: Readonly<Record<string, string>>,
    headers: Readonly<Record<string, string>> = { 'sec-fetch-site': 'same-origin' },
    console = visitor.as('operator'),
  ): Promise<Response> =>
    console.fetch(
      new Request(`http://ops.example/${path}`, {
        method: 'POST',
        headers: { accept: 'text/html', ...headers },
        body: new URLSearchParams(fields),
      }),
    )
  const textOf = async (response: Promise<Response>): Promise<string> => (await response).text()

  test('push a task after it was shown, keep it in the audit, and take it back', async () => {
    await fixture.nextTopic({ keyed: true })
    const path = `topics/${fixture.topic}/push`
    expect(await textOf(visitor.get(visitor.as('operator'), path))).toContain('name="identifier"')
    const fields = { identifier: 'inv-7', input: '{"total":\r\n"12"}', externalId: 'order-7', in: '2', unit: 'h', priority: '3' }
    const seen = await textOf(post(path, fields))
    expect(seen).toMatch(/1<\/strong> task will be pushed[^]*due in 2 h, with the priority 3/)
    expect(await fixture.states()).toEqual({})
    const done = await textOf(post(path, { ...confirmationIn(seen), note: 'by hand' }))
    expect(done).toContain('1 task is pushed')
    const [task] = await fixture.page()
    expect(task).toMatchObject({
      identifier: 'inv-7',
      input: '{"total":\n"12"}',
      externalId: 'order-7',
      priority: 3,
      state: 'suspended',
    })
    const dueMs = task!.due!.getTime() - task!.created.getTime()
    expect([dueMs > 7_190_000, dueMs < 7_210_000]).toEqual([true, true])
    expect(await textOf(post(path, fields))).toContain('is there already')
    expect(await textOf(post(path, { ...fields, sure: 'yes' }))).toContain('Nothing was pushed')
    const undo = /action="([^"]*audit\/[^"]*\/undo)"/.exec(done)![1]!
    expect(await textOf(post(new URL(undo, `http://ops.example/${path}`).pathname.slice(1), {}))).toContain('1</strong> undone')
    expect(await fixture.states()).toEqual({ filtered: 1 })
    const { actions } = await visitor.json<{ actions: object[] }>(visitor.as('viewer'), `audit?topic=${fixture.topic}`)
    expect(actions).toMatchObject([
      { action: 'undo' },
      { action: 'push', actor: 'kari', via: 'console', note: 'by hand', count: 1 },
    ])
  })

  test('reschedule a task, at the instant that was shown', async () => {
    await fixture.nextTopic()
    const { topic } = fixture
    const [task] = await fixture.push({ identifier: 'late', delayMs: 60_000 })
    const asked = `act?deed=reschedule&topic=${topic}&sequence=${task!.sequence}&in=3&unit=d&priority=-2`
    const seen = await textOf(visitor.get(visitor.as('operator'), asked))
    expect(seen).toMatch(/1<\/strong> task will be[^]*rescheduled[^]*, due [^]*with the priority -2/)
    const fields = confirmationIn(seen)
    expect(fields).toMatchObject({ deed: 'reschedule', priority: '-2' })
    expect(await textOf(post('act', fields))).toMatch(/1<\/strong> task is[^]*rescheduled/)
    const [moved] = await fixture.page()
    expect([moved!.due!.toISOString(), moved!.priority]).toEqual([fields['due'], -2])
  })

  test('refuse what is out of range, comes from elsewhere, or is asked by somebody who may not', async () => {
    await fixture.nextTopic()
    const path = `topics/${fixture.topic}/push`
    for (const wrong of [
      {},
      { identifier: '' },
      { identifier: 'x'.repeat(10_000) },
      { identifier: 'a', priority: '1.5' },
      { identifier: 'a', maxTries: '0' },
      { identifier: 'a', in: '-1' },
      { identifier: 'a', unit: 'years' },
      { identifier: 'a', sure: 'perhaps' },
    ] as const)
      expect({ wrong, status: (await post(path, wrong)).status }).toEqual({ wrong, status: 400 })
    const act = `act?deed=reschedule&topic=${fixture.topic}`
    for (const wrong of ['', '&in=x', '&priority=99999', '&in=1&unit=year'])
      expect({ wrong, status: (await visitor.get(visitor.as('operator'), act + wrong)).status }).toEqual({ wrong, status: 400 })
    const fields = { identifier: 'a', sure: 'yes' }
    const own = { 'sec-fetch-site': 'same-origin' }
    for (const [status, headers, console] of [
      [403, { 'sec-fetch-site': 'cross-site' }, visitor.as('admin')],
      [403, {}, visitor.as('admin')],
      [403, own, visitor.as('reader')],
      [404, own, visitor.consoleFor({ name: 'ola', role: 'admin', topics: ['another'] })],
      [405, own, visitor.as('admin', { readOnly: true })],
    ] as const)
      expect((await post(path, fields, headers, console)).status).toBe(status)
    expect(await fixture.states()).toEqual({})
  })

  test('keep how somebody likes pages in a cookie of the console, and go back', async () => {
    await fixture.nextTopic()
    const { topic } = fixture
    const [task] = await fixture.push('a')
    const viewer = visitor.as('viewer')
    const own = { 'sec-fetch-site': 'same-origin' }
    const save = (fields: Readonly<Record<string, string>>): Promise<Response> => post('settings', fields, own, viewer)
    const saved = await save({ theme: 'dark', times: 'local', zone: 'Asia/Kolkata', back: `topics/${topic}?state=ready` })
    expect([saved.status, saved.headers.get('location')]).toEqual([303, `./topics/${topic}?state=ready`])
    const cookie = saved.headers.get('set-cookie')!
    expect(cookie).toMatch(/^taskstream-pages=[^;]+; Max-Age=\d+; HttpOnly; SameSite=Strict$/)
    const page = await textOf(
      visitor.get(viewer, `topics/${topic}/tasks/${task!.sequence}`, { cookie: `other=1; ${cookie.split(';')[0]}` }),
    )
    expect(page).toContain('<html lang="en" data-theme="dark">')
    expect(page).toMatch(/<time [^>]*title="[^"]* ago, [^"]* UTC">\d{4}-\d\d-\d\d \d\d:\d\d:\d\d GMT\+5:30<\/time>/)
    const settings = await textOf(visitor.get(viewer, 'settings', { cookie: cookie.split(';')[0]! }))
    expect(settings).toMatch(/value="dark"\s+checked[^]*value="local"\s+checked[^]*value="Asia\/Kolkata"\s+selected/)
    for (const wrong of ['nonsense', 'dark~local~Nowhere/Else', '%00', `${'x'.repeat(5_000)}`]) {
      const plain = await textOf(visitor.get(viewer, '', { cookie: `taskstream-pages=${wrong}` }))
      expect({ wrong, isPlain: plain.includes('data-theme="system"') }).toEqual({ wrong, isPlain: true })
    }
    for (const back of ['//evil.example', 'https://evil.example', '../x', 'a/%2e%2E/b', '\\evil', 'a b', 'topics/..'])
      expect(new URL((await save({ back })).headers.get('location')!, 'http://ops.example/ops/').href).toMatch(
        /^http:\/\/ops\.example\/ops\//,
      )
    for (const wrong of [{ theme: 'pink' }, { times: 'never' }, { zone: 'Nowhere/Else' }])
      expect((await save(wrong as Record<string, string>)).status).toBe(400)
    expect((await post('settings', { theme: 'dark' }, { 'sec-fetch-site': 'cross-site' })).status).toBe(403)
  })
})
