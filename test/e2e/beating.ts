/** The heartbeat module that tests run in a thread. Its own URL names the database, and the channel that hears of each beat. */
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
      await subject.transactions<boolean>((transaction) => repository.heartbeat(transaction))
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
