/** What beats in a thread: opens the database that its own address names. */
import type { OpenThreadBeat } from '@taskstream/task-processor'
import { reopenSubject } from '../subject.ts'

const { searchParams } = new URL(import.meta.url)

const open: OpenThreadBeat = async (owner) => {
  const subject = await reopenSubject({ subject: searchParams.get('subject') ?? '', at: searchParams.get('at') ?? '' })
  const repository = subject.tasks({ speaksFor: owner })
  return {
    heartbeat: () => subject.transactions<void>((transaction) => repository.heartbeat(transaction)),
    close: () => subject[Symbol.asyncDispose](),
  }
}

export default open
