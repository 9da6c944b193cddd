/** The topic and the input of the tasks that every subject handles. */
export const topic = 'mail'

export const input = JSON.stringify({ to: 'someone@example.org', subject: 'A letter', body: 'x'.repeat(40) })
