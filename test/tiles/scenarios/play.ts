/** Plays each scenario with every guard, which must be clean, and without each of its guards, which must be noticed. */
import type { Form, Guard, TaskRecord } from '../guards.ts'
import { held } from './held.ts'
import type { Connection, Scenario } from './lab.ts'
import { Lab } from './lab.ts'
import { late } from './late.ts'
import { rivals } from './rivals.ts'

export interface Played {
  readonly scenario: string
  readonly record: TaskRecord
  readonly without: readonly Guard[]
  /** Whether the outcome is as expected: nothing with every guard, something without one. */
  readonly isExpected: boolean
  readonly problems: readonly string[]
}

export async function playAll(connection: Connection, records: readonly TaskRecord[]): Promise<Played[]> {
  const played: Played[] = []
  for (const record of records) {
    for (const scenario of [...late, ...held, ...rivals]) {
      if (scenario.record && scenario.record !== record) continue
      const base = scenario.base ?? []
      for (const without of [base, ...scenario.guards.map((guard) => [...base, guard])]) {
        const problems = await play(connection, scenario, { record, without, ...(scenario.gate ? { gate: scenario.gate } : {}) })
        const isExpected =
          without === base
            ? problems.length === 0
            : problems.length > 0 && !problems.some((problem) => problem.includes('syntax error'))
        process.stderr.write(
          `${isExpected ? 'as expected' : 'NOT as expected'}: ${record}, ${scenario.name}${without.length > 0 ? `, without ${without.join(', ')}` : ''}: ${problems[0] ?? 'clean'}\n`,
        )
        played.push({ scenario: scenario.name, record, without, isExpected, problems })
      }
    }
  }
  return played
}

async function play(connection: Connection, scenario: Scenario, form: Form): Promise<readonly string[]> {
  await using lab = new Lab(connection, form)
  await lab.prepare(form)
  try {
    await scenario.run(lab, await lab.connect())
    return await lab.finish()
  } catch (error) {
    return [...lab.problems, String(error)]
  }
}
