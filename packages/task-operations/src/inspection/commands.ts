/** The command that does what a remedy says. Nobody has run it. */
import type { Remedy } from '@taskstream/task-api'

/** Quotes a text so that a shell reads it as one word. */
export function quoted(word: string): string {
  return /^[\w./:@-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`
}

/** @returns undefined if no command does it: somebody has to start a process */
export function commandOf({ verb, topic, sequence, state }: Remedy): string | undefined {
  const name = quoted(topic)
  switch (verb) {
    case 'activate':
      return `taskstream resume ${name}`
    case 'quiet':
      return 'taskstream nodes'
    case 'limit':
      return `taskstream limits ${name}`
    case 'start-node':
      return undefined
    case 'examine':
      return 'taskstream doctor'
    case 'redrive':
      // Of a task that is named the state need not be given.
      return `taskstream redrive ${name}${sequence === undefined ? ` --state ${state ?? 'failed'}` : ` @${sequence}`}`
    case 'reassign':
      return `taskstream reassign ${name} --state ${state ?? 'failed'} --from ${sequence} --to ${sequence} --result filter`
    case 'cancel':
      return `taskstream cancel ${name} @${sequence}`
    case 'reschedule':
      return `taskstream run-now ${name} @${sequence}`
  }
}
