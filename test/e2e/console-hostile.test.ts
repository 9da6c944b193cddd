/** Whatever tasks, errors and questions say: it stays text. */
import { TaskDecision } from '@taskstream/task-api'
import { useFixture } from '@taskstream/task-testing/suite'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { canRun, engine } from '../subject.ts'
import { Visitor } from './console-scene.ts'

/** Ways out of texts and attributes, with a tag and an attribute that nothing of ours has. */
const ways = [
  '<x-evil>',
  '</title><x-evil>',
  '</textarea></script></style><x-evil onevil=1>',
  '" onevil="1',
  "' onevil='1",
  '--><x-evil>',
  '<![CDATA[<x-evil>',
  '&lt;x-evil&gt;',
  'javascript:evil()',
  '\u202Egnp.evil',
  '\u2066\u200F\u061C',
  '\u0007\u001B[2J',
  '%3Cx-evil%3E',
  '../../..',
  '{{evil}}${evil}',
  '\u2028\u2029',
] as const
const hostile = fc
  .array(fc.oneof(fc.constantFrom(...ways), fc.string({ unit: 'grapheme', maxLength: 8 })), { minLength: 1, maxLength: 5 })
  .map((parts) => `x${parts.join('')}`.replaceAll('\0', '').slice(0, 200).toWellFormed())

/** What is wrong with a page. */
function wrongWith(page: string): readonly string[] {
  return [
    ...(/<\/?x-evil/i.test(page) ? ['a tag'] : []),
    ...(/<[a-z][^>]*\sonevil\s*=/i.test(page.replaceAll(/"[^"]*"/g, '""')) ? ['an attribute'] : []),
    ...(/(?:href|src|action)="\s*javascript:/i.test(page) ? ['an address that runs'] : []),
    // A field has its value as it is, and keeps its direction to itself.
    // oxlint-disable-next-line no-control-regex
    ...(/[\u0000-\u0008\u000B-\u001F\u202A-\u202E\u2066-\u2069\u200E\u200F\u061C]/.test(page.replaceAll(/ value="[^"]*"/g, ''))
      ? ['a character that cannot be seen']
      : []),
  ]
}

/** Where a link of a page leads. */
function follow(href: string, from: string): string {
  const { href: to } = new URL(href.replaceAll('&amp;', '&').replaceAll('&#39;', "'"), `http://ops.example/${from}`)
  return to.slice('http://ops.example/'.length)
}

describe.skipIf(!canRun)('hostile texts', () => {
  const fixture = useFixture(engine)
  const visitor = new Visitor(fixture)
  const viewer = (): ReturnType<Visitor['as']> => visitor.as('admin')
  const page = async (path: string): Promise<string> => (await visitor.get(viewer(), path, { accept: 'text/html' })).text()

  test('make no tag, no attribute and nothing invisible on any page', async () => {
    await fc.assert(
      fc.asyncProperty(hostile, hostile, hostile, async (identifier, words, question) => {
        await fixture.nextTopic({ keyed: true })
        const { topic } = fixture
        const [task] = await fixture.push({ identifier, reference: words, input: words, headers: { [words]: words } })
        await fixture.complete(await fixture.poll(1), TaskDecision.failure(new Error(words)))
        const [group] = await fixture.commit((transaction) => fixture.tasks.errors(transaction, { topic }))
        const asked = encodeURIComponent(question)
        for (const path of [
          '',
          `topics/${topic}`,
          `topics/${topic}?identifier=${asked}&reference=${asked}`,
          `topics/${topic}/tasks/${task!.sequence}`,
          `topics/${topic}/tasks/${asked}`,
          `topics/~${asked}`,
          `errors?topic=${topic}`,
          `errors/${group!.fingerprint}`,
          `errors/~${asked}`,
          `nodes/~${asked}`,
          `next?topic=${topic}`,
          `find?q=${asked}`,
          `find?q=id:${encodeURIComponent(identifier)}`,
          `nothing/${asked}`,
          `timers/~${asked}/~${asked}`,
        ])
          expect({ path, wrong: wrongWith(await page(path)) }).toEqual({ path, wrong: [] })
      }),
      { numRuns: engine.synchronous ? 25 : 8 },
    )
  })

  test('name topics, timers and tasks whose pages are found by their links', async () => {
    const names = ['..', '.', '~x', 'a/b', 'a%2Fb', 'a%b', 'ä ö', 'q?x#y', '<x-evil>', 'a\\b', "it's", '%00', 'a&b=c;d', '+', ' ']
    for (const name of names) {
      await fixture.commit((transaction) => fixture.tasks.initialize(transaction, name, { keyed: true }))
      await fixture.commit((transaction) => fixture.tasks.push(transaction, name, [{ identifier: name }]))
    }
    const console = viewer()
    const first = await (await visitor.get(console, '')).text()
    const hrefs = [...first.matchAll(/href="(\.\/topics\/[^"]*)"/g)].map(([, href]) => href!)
    expect(hrefs.length).toBeGreaterThanOrEqual(names.length)
    const found: string[] = []
    for (const href of hrefs) {
      const path = follow(href, '')
      const response = await visitor.get(console, path)
      expect({ path, status: response.status }).toEqual({ path, status: 200 })
      found.push((await visitor.json<{ topic: string }>(console, path)).topic)
      const page = await response.text()
      const task = /href="(\.\.\/topics\/[^"]*\/tasks\/\d+)"/.exec(page)?.[1]
      if (task === undefined) continue
      const next = follow(task, path)
      expect({ next, status: (await visitor.get(console, next)).status }).toEqual({ next, status: 200 })
    }
    expect(found).toEqual(expect.arrayContaining(names))
    await fixture.commit(async (transaction) => {
      for (const name of names) await fixture.tasks.destroy(transaction, name)
    })
  })

  test('of 16 MB make a page of at most 600 kB, without the secrets in them', async () => {
    const secret = `{"password":"hunter22","rows":"${'<x-evil>'.repeat(2_000_000)}"}`
    const [long, middle] = await fixture.push(
      { identifier: 'long', input: secret },
      { identifier: 'middle', input: `{"password":"hunter22","rows":"${'<x-evil>'.repeat(20_000)}"}` },
    )
    for (const task of [long!, middle!]) {
      const path = `topics/${fixture.topic}/tasks/${task.sequence}`
      const shown = await page(path)
      expect(shown.length).toBeLessThan(600_000)
      expect({ wrong: wrongWith(shown), secret: shown.includes('hunter22') }).toEqual({ wrong: [], secret: false })
    }
    expect(await visitor.json(viewer(), `topics/${fixture.topic}/tasks/${long!.sequence}`)).toMatchObject({
      input: { text: '', length: secret.length, cut: true },
    })
  })
})
