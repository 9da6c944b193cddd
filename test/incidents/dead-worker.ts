import type { Incident } from './incident.ts'
import { findTask } from './keyboard.ts'
import { settled } from './terminal.ts'

const minute = 60_000

/** The worker had no time to say that it stops, so its tasks are held until somebody takes them from it. */
export const deadWorker: Incident = {
  name: 'dead-worker',
  happened: 'the only worker was killed while it handled invoices, and nobody started another',
  engines: ['sqlite', 'postgres', 'mariadb'],
  stage: async (site) => {
    const { tasks } = site
    const topic = 'invoices'
    await site.commit((transaction) => tasks.initialize(transaction, topic, { condition: 'singular-by-identifier' }))
    const worker = await site.start({ role: 'node', name: 'worker-1', release: '4.2.0', topic, hangs: true })
    await site.commit((transaction) => tasks.push(transaction, topic, ['inv-7', 'inv-8', 'inv-9']))
    await worker.until('took', 1)
    await worker.kill()
    await site.age('task', 'started', 12 * minute)
    await site.age('owner', 'heartbeat', 12 * minute)
    return {
      question: 'No invoice has gone out for 12 minutes. Customer 7 waits for invoice inv-7.',
      finds: {
        command: ['why', topic, 'inv-7'],
        shows: /^owner-dead: inv-7 @\d+ held by worker-1:\S+ \(release 4\.2\.0\), which is dead \(silent for 12 min/,
      },
      shown: {
        page: 'topics/invoices/tasks/id:inv-7',
        shows: /owner-dead[^]*worker-1[^]*silent for 12 min/,
        route: 'topics/invoices/tasks/id:inv-7/why',
        answers: /"code":"owner-dead"/,
        // Only a new process takes over what the dead one held.
        byKeyboard: {
          leads: async (keys) => {
            await findTask(keys, 'inv-7')
            await keys.sees(/owner-dead[^]*silent for 12 min/)
          },
        },
      },
      remedy: /try: (start a process that processes topic invoices)$/gm,
      carryOut: async () => {
        const next = await site.start({ role: 'node', name: 'worker-2', release: '4.2.0', topic })
        await settled(site, { command: ['why', topic, 'inv-9'], shows: /^succeeded/ })
        return [`started worker-2, process ${next.pid}, which processes topic ${topic}`]
      },
      also: [
        { command: ['nodes', 'worker-1'], shows: /^invoices .* inv-7 /m },
        { command: ['attention'], shows: /owner-silent +worker-1 died without a word, and \d+ of its tasks/, code: 4 },
      ],
      after: { command: ['why', topic, 'inv-7'], shows: /^succeeded: inv-7/ },
    }
  },
}
