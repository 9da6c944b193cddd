import type { Incident } from './incident.ts'
import { goTo } from './keyboard.ts'

/** A minute, as a machine has it that was asleep and has no NTP. */
const apartMs = -60_000

/** Instants in the log of a process and those in the database cannot be compared. */
export const clockApart: Incident = {
  name: 'clock-apart',
  happened: 'the clock of this machine is a minute behind the clock of the database',
  engines: ['postgres', 'mariadb'],
  stage: async (site) => {
    const { tasks } = site
    const topic = 'invoices'
    await site.commit((transaction) => tasks.initialize(transaction, topic))
    await site.commit((transaction) => tasks.push(transaction, topic, ['inv-7']))
    const env = {
      NODE_OPTIONS: `--import=${new URL('../laboratory/clock.ts', import.meta.url).href}`,
      LABORATORY_CLOCK_MS: String(apartMs),
    }
    return {
      question: 'By the log of worker-1 invoice inv-7 was handled a minute before the database says that it was pushed.',
      env,
      finds: {
        command: ['doctor'],
        shows: /\ncrit clock: (59|1 min|60).* behind the clock of the database\n/,
        code: 4,
      },
      shown: {
        page: 'health',
        shows: /clock\s+\S crit\s+\S.* behind the clock of the database/,
        route: 'examination',
        answers: /"check":"clock"(?:(?!"check")[^])*"severity":"crit"/,
        byKeyboard: {
          leads: async (keys) => {
            await goTo(keys, 'h', /\/health$/)
            await keys.sees(/clock\s+\S crit\s+\S.* behind the clock of the database/)
          },
        },
      },
      remedy: /\n {2}(.*timedatectl.*)\n/g,
      carryOut: async () => {
        // No test sets the clock of a machine: the next command is started with the right one.
        Object.assign(env, { LABORATORY_CLOCK_MS: '0' })
        return ['$ timedatectl set-ntp true', '(the next command has the right clock)']
      },
      after: { command: ['doctor'], shows: /^clock +ok /m },
    }
  },
}
