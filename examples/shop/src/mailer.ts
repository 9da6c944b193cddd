/** Sends mails. */
import { setTimeout as delay } from 'node:timers/promises'

export interface Mailer {
  send(
    mail: { readonly id: string; readonly to: string; readonly subject: string },
    options: { readonly signal: AbortSignal },
  ): Promise<void>
}

/** Stands for a mail service: it takes a moment, and tells the log. Give yours the id as its idempotency key. */
export const loggingMailer: Mailer = {
  send: async ({ id, to, subject }, { signal }) => {
    await delay(20, undefined, { signal })
    console.log(`mail ${id} to ${to}: ${subject}`)
  },
}
