/** A transaction that is given up ends for its caller, though its connection never answers. */
import { abortedBy, LazyAbortController } from '@taskstream/task-api'
import { raw } from '@taskstream/task-sql'
import { useFixture } from '@taskstream/task-testing/suite'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { canRun, engine } from '../subject.ts'
import { openPool } from './proxied-pool.ts'
import type { Pool } from './proxied-pool.ts'
import { openSilentProxy } from './silent-proxy.ts'
import type { SilentProxy } from './silent-proxy.ts'

describe.skipIf(!canRun)('a transaction that is given up, on a connection that has fallen silent', () => {
  const fixture = useFixture(engine)
  let proxy: SilentProxy
  let pool: Pool
  beforeEach(async () => {
    proxy = await openSilentProxy(fixture.subject.location.at)
    pool = openPool(proxy.url)
  })
  afterEach(() => proxy[Symbol.asyncDispose]())

  test('ends while it waits for the answer to a statement', async () => {
    const abort = new LazyAbortController()
    const sent = Promise.withResolvers<void>()
    const given = pool.transactions(async (transaction) => {
      await fixture.subject.execute(transaction, raw('select 1'))
      proxy.silence()
      const answer = fixture.subject.execute(transaction, raw('select 2'))
      sent.resolve()
      await answer
    }, abortedBy(abort))
    await sent.promise
    abort.abort(new Error('nobody waits any more'))
    await expect(given).rejects.toThrow('nobody waits any more')
  })

  test('ends while it waits for the answer to its commit', async () => {
    const abort = new LazyAbortController()
    const given = pool.transactions(async (transaction) => {
      await fixture.tasks.push(transaction, fixture.topic, 'a')
      proxy.silence()
      // The commit is sent before this is called.
      setImmediate(() => abort.abort(new Error('nobody waits any more')))
    }, abortedBy(abort))
    await expect(given).rejects.toThrow('nobody waits any more')
  })
})
