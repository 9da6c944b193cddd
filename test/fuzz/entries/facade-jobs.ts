/** The definitions whose jobs the entry of the front door pushes. */
import { defineJob, defineQueue, defineTopic, json } from 'taskstream/better-sqlite3'

export const plain = defineJob('plain', { input: json<{ a: number }>() })
export const keyed = defineJob('keyed', { input: json<{ a: number }>(), key: () => 'key', limits: { perKey: 2 } })
export const queue = defineQueue('queue', { keyed: true })
export const queued = defineJob('queued', { input: json<{ a: number }>(), queue, key: () => 'key' })
export const needing = defineJob('needing', { needs: { part: plain } })
export const prices = defineTopic('prices', { input: json<{ a: number }>(), key: () => 'key' })
export const jobs = { plain, keyed, queued } as const
