/** What every subject is given to do. */
export const topic = 'mail'

export const input = JSON.stringify({ to: 'someone@example.org', subject: 'A letter', body: 'x'.repeat(40) })
