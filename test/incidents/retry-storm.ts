import type { Incident } from './incident.ts'
import { goTo, openFirst } from './keyboard.ts'
import { typed } from './terminal.ts'

/** Every payment is tried again and again, so a service that is down is called without a pause. */
export const retryStorm: Incident = {
  name: 'retry-storm',
  happened: 'the bank is down, and every payment is tried again each minute',
  engines: ['sqlite', 'postgres', 'mariadb'],
  stage: async (site) => {
    const { tasks } = site
    const topic = 'payments'
    const names = Array.from({ length: 30 }, (_, index) => `pay-${index + 1}`)
    await site.commit((transaction) => tasks.initialize(transaction, topic))
    await site.commit((transaction) => tasks.push(transaction, topic, names))
    const throws = 'HTTP 503 from bank'
    const worker = await site.start({ role: 'node', name: 'worker-1', release: '4.2.0', topic, throws, retries: true })
    await worker.until('ended', names.length)
    return {
      question: 'The bank asks us to stop: we call it all the time, while it tries to get up again.',
      finds: {
        command: ['errors', topic],
        shows: /payments +\d{2,} +0 +\d{2,} +Error: HTTP 503 from bank +\S+ +4\.2\.0 /,
      },
      shown: {
        page: 'errors?topic=payments',
        shows: /HTTP 503 from bank/,
        route: 'errors?topic=payments',
        answers: /"count":\d{2,},[^]*HTTP 503 from bank/,
        byKeyboard: {
          leads: async (keys) => {
            await goTo(keys, 'e', /\/errors$/)
            await openFirst(keys, /\/errors\/./)
            await keys.sees(/HTTP 503 from bank/)
          },
          mends: async (keys) => {
            await keys.press('p')
            await keys.type('the bank is down')
            await keys.press('Enter')
            await keys.isAt(/\/pause$/)
            await keys.sees(/Done\./)
          },
        },
      },
      remedy: /try: (taskstream pause .*)$/gm,
      carryOut: async ([command = '']) => [await typed(site, command)],
      also: [
        {
          command: ['attention'],
          shows: /crit +failing-new +payments: \d{2,} × Error: HTTP 503 from bank, .* in release 4\.2\.0/,
          code: 4,
        },
        { command: ['next', topic], shows: /due +\d+ +pay-\d+ / },
      ],
      // The tries that are due find the topic paused.
      after: { command: ['errors', topic], shows: /\n {2}try: taskstream resume payments {2}# once its cause is mended\n$/ },
    }
  },
}
