/** Shells complete lines of the command: real ones, which are typed into. */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { once } from 'node:events'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { follow, nodeArguments, run } from './command-line.ts'
import { has, hasTerminal, onShell } from './terminal.ts'

/** The shells, how they start without anybody's settings, and what makes them ready. */
const shells = [
  { name: 'bash', version: /GNU bash/, args: ['--norc', '--noprofile', '-i'], ready: '. <(taskstream completion bash)' },
  {
    name: 'zsh',
    version: /zsh 5/,
    args: ['-f', '-i'],
    ready: 'autoload -U compinit; compinit -D -u; . <(taskstream completion zsh)',
  },
] as const

describe('completion', () => {
  let folder = ''
  let url = ''
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'taskstream-cli-'))
    url = `sqlite:${join(folder, 'tasks.db')}`
    await run(['migrate', 'up', '--url', url])
    for (const topic of ['invoices', 'email:new', 'two words', 'escape\u001B'])
      await run(['topic', 'create', topic, '--url', url])
    writeFileSync(join(folder, 'taskstream.json'), '{"contexts":{"live":{"variable":"LIVE"}}}')
    const program = [process.execPath, ...nodeArguments].map((word) => `'${word}'`).join(' ')
    writeFileSync(join(folder, 'taskstream'), `#!/bin/sh\nexec ${program} "$@"\n`)
    chmodSync(join(folder, 'taskstream'), 0o755)
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  const complete = async (line: string, env: Readonly<Record<string, string>> = { TASKSTREAM_URL: url }): Promise<string[]> => {
    const { code, out, err } = await run(['__complete', line], { cwd: folder, env })
    expect([line, code, err]).toEqual([line, 0, ''])
    return out.split('\n').slice(0, -1)
  }

  test('knows commands, options and their values, from the tree of commands', async () => {
    expect(await complete('taskstream re')).toEqual(['redrive', 'reschedule', 'reassign', 'repair', 'resume'])
    expect(await complete('taskstream topic ')).toEqual(['create', 'options', 'destroy', 'help'])
    expect(await complete('taskstream ls invoices --st')).toEqual(['--state'])
    expect(await complete('taskstream ls invoices --state f')).toEqual(['failed', 'filtered'])
    expect(await complete('taskstream ls invoices -o c')).toEqual(['csv'])
    expect(await complete('taskstream topic create x --order ')).toEqual(['fifo', 'lifo', 'priority', 'shared'])
    expect(await complete('taskstream completion z')).toEqual(['zsh'])
    expect(await complete('taskstream __')).toEqual([])
    expect(await complete('taskstream ls -- --st')).toEqual([])
    // After its last argument a command takes nothing more, and a task has no names to choose from.
    expect(await complete('taskstream count invoices ')).toEqual([])
    expect(await complete('taskstream redrive invoices ')).toEqual([])
    expect(await complete('taskstream redrive invoices @1 ')).toEqual([])
  })

  test('knows topics and contexts, but none that cannot be typed', async () => {
    expect(await complete('taskstream ls ')).toEqual(['email:new', 'invoices', 'two words'])
    expect(await complete(`taskstream ls --state failed 'two `)).toEqual(['two words'])
    expect(await complete(`taskstream push --url ${url} inv`, {})).toEqual(['invoices'])
    expect(await complete('taskstream watch invoices e')).toEqual(['email:new'])
    expect(await complete('taskstream topics --context ')).toEqual(['live'])
    expect(await complete('taskstream context use ')).toEqual(['live'])
    expect(await complete('taskstream ls --context live ', { LIVE: url })).toContain('invoices')
  })

  test('is silent where a database does not answer, is not there, or is no database', async () => {
    for (const address of ['postgres://shop:correct-horse@127.0.0.1:1/shop', `sqlite:${folder}/gone.db`, 'foo', ''])
      expect(await complete('taskstream ls ', { TASKSTREAM_URL: address })).toEqual([])
    // This server takes connections, and never says a word: another command waits for it for ten seconds.
    const server = createServer((connection) => void connection.on('error', () => {})).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const silent = { url: `postgres://shop@127.0.0.1:${(server.address() as AddressInfo).port}/shop` }
    await using waiting = follow(['topics'], silent)
    await using completing = follow(['__complete', 'taskstream ls '], silent)
    const first = await Promise.race([completing.ended, waiting.ended])
    server.close()
    expect(first).toEqual({ code: 0, out: '', err: '' })
  })

  for (const { name, version, args, ready } of shells) {
    const isHere = has(name, version) && hasTerminal
    const title = isHere
      ? name
      : `${name} (not tested: this machine has no ${name}, or no \`script\` of util-linux; apt-get install ${name})`
    test.skipIf(!isHere)(`works in ${title}`, async () => {
      const env = {
        TASKSTREAM_URL: url,
        PATH: `${folder}${delimiter}${process.env['PATH']}`,
        PS1: '> ',
        TERM: 'dumb',
        HOME: folder,
      }
      await using shell = onShell(name, args, { columns: 200, cwd: folder, env })
      shell.type(`${ready}; echo rea''dy\n`)
      await shell.until(/ready/)
      for (const [typed, shown] of [
        ['taskstream topic des', /taskstream topic destroy /],
        ['taskstream ls inv', /taskstream ls invoices /],
        ['taskstream pause email:n', /taskstream pause email:new /],
        ['taskstream resume two', /taskstream resume two\\ words /],
        ['taskstream ls invoices --state succ', /--state succeeded /],
      ] as const) {
        shell.type(`${typed}\t`)
        await shell.until(shown)
        // Ctrl-U empties the line.
        shell.type('\u0015')
      }
      shell.type('exit\n')
      expect((await shell.ended).code).toBe(0)
    })
  }
})
