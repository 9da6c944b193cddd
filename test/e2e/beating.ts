/** What beats in a thread: opens the database that its own address names, and tells of each beat on the channel that it names. */
import { BroadcastChannel } from 'node:worker_threads'
import type { OpenThreadBeat } from '@taskstream/task-processor'
import { reopenSubject } from '../subject.ts'

const { searchParams } = new URL(import.meta.url)

const open: OpenThreadBeat = async (owner) => {
  const subject = await reopenSubject({ subject: searchParams.get('subject') ?? '', at: searchParams.get('at') ?? '' })
  const repository = subject.tasks({ speaksFor: owner })
  const told = new BroadcastChannel(searchParams.get('told') ?? '')
  return {
    heartbeat: async () => {
      await subject.transactions<void>((transaction) => repository.heartbeat(transaction))
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel, not a window
      told.postMessage('beat')
    },
    close: async () => {
      told.close()
      await subject[Symbol.asyncDispose]()
    },
  }
}

export default open
