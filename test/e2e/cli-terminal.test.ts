/** The command line on a real terminal: tables fit it, questions are asked there, and it is given back as it was. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { TaskDecision } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'
import { sql } from '@taskstream/task-sql'
import { useFixture } from '@taskstream/task-testing/suite'
import { beforeAll, describe, expect, test } from 'vitest'
import { widthOf } from '../../packages/task-cli/src/output/width.ts'
import { engine } from '../subject.ts'
import { run, urlOf } from './command-line.ts'
import { hasTerminal, onTerminal } from './terminal.ts'
import type { Typing } from './terminal.ts'

const escape = '\u001B'
const colours = new RegExp(String.raw`${escape}\[\d*m`, 'g')
const title = hasTerminal ? '' : ' (not tested: this machine has no `script` of util-linux, which makes terminals)'

describe.skipIf(!hasTerminal)(`the command line on a terminal${title}`, () => {
  const fixture = useFixture(engine)
  let url = ''
  beforeAll(async () => {
    url = urlOf(fixture.subject)
  })
  const terminal = (columns: number, ...args: readonly string[]): Typing => onTerminal([...args, '--url', url], { columns })
  /** The lines as a person sees them, without what only colours them. */
  const linesOf = (out: string): string[] => out.replaceAll(colours, '').trimEnd().split('\r\n')

  test.each([40, 60, 100, 160])('fits tables to its %d columns, whatever is in the database', async (columns) => {
    await fixture.nextTopic()
    await fixture.push(
      { identifier: 'customer-0815-order-with-a-very-long-name-2027-01', reference: 'r'.repeat(200) },
      { identifier: `${escape}[2J${escape}[31mred\u202Eder\u0007`, input: 'x'.repeat(1_000_000) },
      { identifier: '請求書'.repeat(40) },
    )
    for (const args of [['ls', fixture.topic], ['topics'], ['count'], ['limits'], ['periodic', 'ls']]) {
      const { code, out } = await terminal(columns, ...args).ended
      expect([args, code]).toEqual([args, 0])
      const lines = linesOf(out)
      expect([args, lines.join('\n')]).toEqual([args, expect.not.stringMatching(/[\u0000-\u0009\u000B-\u001F\u202E]/)]) // oxlint-disable-line no-control-regex
      for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(columns)
    }
    const { out } = await terminal(columns, 'ls', fixture.topic).ended
    expect(linesOf(out)).toHaveLength(4)
    expect(out.startsWith(`${escape}[1m`)).toBe(true)
  })

  test('has what is wrong and what to do about it whole on 40 columns: nothing is cut, and no line is wider', async () => {
    await fixture.nextTopic()
    const { topic } = fixture
    await fixture.push('a')
    const set = fixture.tasks.verb(function* ({ dialect }) {
      const changed = dialect.expr.instant(sql`${Date.now() - 3 * 86_400_000}`)
      yield sql`update ${dialect.tables.activation} set changed = ${changed} where topic = ${topic}`
    })
    await fixture.commit((transaction) => fixture.tasks.deactivate(transaction, topic))
    await fixture.commit((transaction) => set(transaction) as unknown)
    /** The words as they are without a terminal, however they are broken into lines. */
    const wordsOf = (text: string): string => text.replaceAll(/ \\$/gm, '').replaceAll(/\s+/g, ' ')
    for (const [command, cut] of [
      ['doctor', /\n\n(?=warn paused)[^]*/],
      ['attention', /[^]+/],
    ] as const) {
      const { code, out } = await terminal(40, command).ended
      const lines = linesOf(out)
      expect([command, code, Math.max(...lines.map((line) => widthOf(line)))]).toEqual([
        command,
        4,
        expect.toSatisfy((most: number) => most <= 40),
      ])
      const shown = wordsOf(cut.exec(lines.join('\n'))![0])
      expect([command, shown]).toEqual([command, expect.stringContaining(topic)])
      expect(shown).not.toContain('…')
      const plain = await run([command, '--json', '--url', url])
      const found = JSON.parse(plain.out) as readonly Readonly<Record<string, string>>[]
      for (const { severity, measured, text, remedy, command: see } of found)
        if (severity === 'warn' || severity === 'crit')
          for (const said of [measured ?? text!, remedy ?? see!])
            expect([shown, command]).toEqual([expect.stringContaining(wordsOf(said)), command])
    }
    await fixture.commit((transaction) => fixture.tasks.activate(transaction, topic))
  })

  test('shows only the beginning of a text of 16 MB, and programs get all of it', async () => {
    await fixture.nextTopic({ keyed: true })
    const input = `${escape}[2J`.padEnd(16_777_216, 'x')
    await fixture.push({ identifier: 'large', input })
    const shown = await terminal(100, 'show', fixture.topic, 'large', '--reveal').ended
    expect(shown.out.length).toBeLessThan(20_000)
    expect(shown.out).toMatch(/input, 16,777,216 characters; -o json has all of them\r\n␛\[2Jxxx/)
    expect(shown.out).not.toContain(`${escape}[2J`)
    const read = await run(['show', fixture.topic, 'large', '--reveal', '-o', 'json', '--url', url])
    expect((JSON.parse(read.out) as { input: string }).input === input).toBe(true)
  })

  test('asks before it writes many tasks, and writes only what was there when it asked', async () => {
    await fixture.nextTopic()
    await fixture.push('a', 'b', 'c', 'd')
    const [a, b, c, d] = (await fixture.poll(4)) as [HeldTask, HeldTask, HeldTask, HeldTask]
    await fixture.complete([a, d], TaskDecision.failure())
    await using no = terminal(100, 'redrive', fixture.topic)
    await no.until(/2 tasks of \S+ would be ready again[^]*Go on\? \[y\/N\] /)
    no.type('n\n')
    expect(await no.ended).toMatchObject({ code: 5, out: expect.stringMatching(/not confirmed, and nothing was written/) })
    expect(await fixture.states()).toEqual({ failed: 2, active: 2 })
    await using yes = terminal(100, 'redrive', fixture.topic)
    await yes.until(/Go on\? \[y\/N\] /)
    // Meanwhile more tasks fail, which stand between those of the preview.
    await fixture.complete([b, c], TaskDecision.failure())
    yes.type('y\n')
    expect(await yes.ended).toMatchObject({ code: 0, out: expect.stringMatching(/ready again: 2, /) })
    expect((await fixture.page()).map(({ state }) => state)).toEqual(['ready', 'failed', 'failed', 'ready'])
    await using interrupted = terminal(100, 'purge', fixture.topic)
    await interrupted.until(/would be deleted[^]*Go on\? \[y\/N\] /)
    expect((await interrupted.interrupt()).code).toBe(130)
    expect(await fixture.states()).toEqual({ failed: 2, ready: 2 })
  })

  test('asks for the name of a production context', async () => {
    await fixture.nextTopic()
    const folder = mkdtempSync(join(tmpdir(), 'taskstream-cli-'))
    try {
      writeFileSync(join(folder, 'taskstream.json'), '{"contexts":{"live":{"variable":"LIVE","production":true}},"use":"live"}')
      const destroy = (): Typing =>
        onTerminal(['topic', 'destroy', fixture.topic, '--yes'], { columns: 100, cwd: folder, env: { LIVE: url } })
      for (const [answer, code] of [
        ['y\n', 5],
        ['live\n', 0],
      ] as const) {
        await using asking = destroy()
        await asking.until(/This is production\. Type live to go on: /)
        asking.type(answer)
        expect((await asking.ended).code).toBe(code)
      }
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })

  test.each([
    ['Ctrl-C', '\u0003', 130],
    ['a database that is wrong', '', 3],
  ])('is given back as it was when a watch ends by %s', async (_, key, code) => {
    await fixture.nextTopic()
    const { topic } = fixture
    await using watch = terminal(60, 'watch', '-n', '0.1', ...(key === '' ? ['nowhere'] : [topic]))
    if (key !== '') {
      await watch.until(/ready/)
      await fixture.push('a')
      // The second picture is drawn over the first.
      await watch.until(new RegExp(`${topic} +1 +0`))
      watch.type(key)
    }
    const ended = await watch.ended
    expect(ended.code).toBe(code)
    const screens = ended.out.match(/\u001B\[\?1049[hl]/g) ?? [] // oxlint-disable-line no-control-regex
    expect(screens).toEqual(key === '' ? [] : [`${escape}[?1049h`, `${escape}[?1049l`])
    if (key !== '') expect(ended.out.trimEnd().endsWith(`${escape}[?25h${escape}[?1049l`)).toBe(true)
  })

  test('shows a bar while a long write goes on, and takes it away', async () => {
    await fixture.nextTopic()
    await fixture.push(...Array.from({ length: 60 }, (_, index) => `i${index}`))
    await fixture.complete(await fixture.poll(60), TaskDecision.failure())
    const { code, out } = await terminal(100, 'redrive', fixture.topic, '--yes', '--rate', '20/s').ended
    expect(code).toBe(0)
    expect(out).toMatch(/\r\[=+ +\] 40 of 60, \d+\/s, .*left/)
    expect(out).toMatch(/\r\u001B\[Kaudit: .*\r\nready again: 60, /) // oxlint-disable-line no-control-regex
  })
})
