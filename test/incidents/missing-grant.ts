import type { Incident } from './incident.ts'
import { goTo } from './keyboard.ts'

/** The user of the nodes has every right that the guide grants, but one. */
export const missingGrant: Incident = {
  name: 'missing-grant',
  happened: 'the database was restored, and a grant to the user of the nodes was forgotten',
  engines: ['postgres', 'mariadb'],
  leastPrivilege: true,
  stage: async (site) => {
    const { subject, tasks } = site
    const topic = 'invoices'
    await site.commit((transaction) => tasks.initialize(transaction, topic))
    await site.commit((transaction) => tasks.push(transaction, topic, ['inv-7']))
    const { username, pathname } = new URL(subject.location.at)
    const [table, user] =
      subject.engine === 'postgres' ? ['taskstream.task', username] : [`${pathname.slice(1)}.task`, `${username}@'127.0.0.1'`]
    await site.execute(`revoke update on ${table} from ${user}`)
    const worker = await site.start({ role: 'node', name: 'worker-1', release: '4.2.0', topic })
    await worker.until('refused', 1)
    return {
      question:
        'The database was restored tonight. Since then no invoice goes out; worker-1 runs, and its log says PERMISSION_DENIED.',
      finds: {
        command: ['doctor'],
        shows: /\nwarn rights: update on .*task\b.*\n/i,
        code: 4,
      },
      shown: {
        page: 'health',
        shows: /rights\s+\S warn\s+update on/i,
        route: 'examination',
        answers: /"check":"rights"(?:(?!"check")[^])*"severity":"warn"/,
        // Who operates the console has no rights to give.
        byKeyboard: {
          leads: async (keys) => {
            await goTo(keys, 'h', /\/health$/)
            await keys.sees(/rights\s+\S warn\s+update on/i)
          },
        },
      },
      remedy: /\n {2}unless this user only looks: (.*)\n/g,
      carryOut: async ([statement = '']) => {
        await site.execute(statement)
        return [`${subject.engine === 'postgres' ? 'psql' : 'mariadb'}> ${statement}`]
      },
      also: [{ command: ['attention'], shows: /crit +node-failing +worker-1: \w+ fails: .*/, code: 4 }],
      after: { command: ['why', topic, '@1'], shows: /^succeeded: inv-7 @1/ },
    }
  },
}
