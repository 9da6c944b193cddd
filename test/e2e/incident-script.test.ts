/** `npm run incident` stages an incident for somebody who wants to practise, and leaves nothing behind. */
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { incidents } from '../incidents/incidents.ts'
import { processesOf } from '../processes.ts'
import { output, run } from './command-line.ts'
import type { Following } from './command-line.ts'

const script = join(import.meta.dirname, '..', 'incidents', 'main.ts')

function incident(...args: readonly string[]): Following {
  return output(spawn(process.execPath, ['--no-warnings', '--conditions=@taskstream/source', script, ...args]))
}

describe('npm run incident', () => {
  test('lists every incident, with the engines on which it happens', async () => {
    const { code, out } = await incident('--list').ended
    expect(code).toBe(0)
    for (const { name, engines } of incidents) expect(out).toMatch(new RegExp(`${name} .*${engines.join(', ')}`))
  })

  test('refuses what there is not, and says what was meant', async () => {
    const refused = async (...args: readonly string[]): Promise<unknown> => {
      const { code, err } = await incident(...args).ended
      return [code, err]
    }
    expect(await refused('--name', 'dead-wroker')).toEqual([2, expect.stringContaining('did you mean dead-worker?')])
    expect(await refused('--name', 'dead-worker', '--engine', 'sqlit')).toEqual([
      2,
      expect.stringContaining('did you mean sqlite?'),
    ])
    expect(await refused('--name', 'clock-apart', '--engine', 'sqlite')).toEqual([
      2,
      expect.stringContaining('postgres or mariadb'),
    ])
    expect(await refused()).toEqual([2, expect.stringContaining('dead-worker, poisoned-identifier')])
    expect(await refused('--nmae', 'x')).toEqual([2, expect.stringContaining('--nmae')])
  })

  test('waits with a database for the command line until Ctrl-C, and then removes its processes and files', async () => {
    await using staging = incident('--name', 'poisoned-identifier')
    await staging.until(/Ctrl-C ends it/)
    const [, file = ''] = /^export TASKSTREAM_URL='sqlite:(.*)'$/m.exec(staging.written()) ?? []
    expect((await run(['why', 'invoices', 'customer-7'], { url: `sqlite:${file}` })).out).toMatch(/^out-of-turn/)
    // Its worker has the file among its arguments.
    expect(processesOf(file)).not.toEqual([])
    expect(await staging.interrupt()).toMatchObject({ code: 0 })
    expect(existsSync(file)).toBe(false)
    expect(processesOf(file)).toEqual([])
  })

  test('solves it on demand', async () => {
    const { code, out } = await incident('--name', 'poisoned-identifier', '--solve').ended
    expect(code).toBe(0)
    expect(out).toMatch(
      /try: taskstream redrive invoices @1\n[^]*\$ taskstream redrive invoices @1\n[^]*\nsucceeded: customer-7 @3/,
    )
  })
})
