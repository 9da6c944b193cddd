/** For tests in which one transaction must be seen waiting for another. */
import { expect } from 'vitest'
import { watch } from '../properties/waiting.ts'
import type { AnyTransaction, Session, Subject } from '../subject.ts'

/**
 * Runs `work` in the second transaction, and ends the first once the database says that the second waits for it.
 *
 * @param meanwhile what the first does before, while the second waits
 */
export async function whileWaiting<Result>(
  { subject, first, second }: { readonly subject: Subject; readonly first: Session; readonly second: Session },
  work: (transaction: AnyTransaction) => Result | Promise<Result>,
  end: 'commit' | 'rollback',
  meanwhile: () => Promise<unknown> = () => Promise.resolve(),
): Promise<Result> {
  const observer = await subject.session()
  await second.begin()
  const waits = await watch(subject, second, observer)
  let ended = false
  const working = Promise.resolve(work(second.transaction)).finally(() => (ended = true))
  working.catch(() => {})
  await expect.poll(async () => ended || (await waits()), { interval: 1 }).toBe(true)
  expect(ended, 'the second has ended without waiting').toBe(false)
  await meanwhile()
  await first[end]()
  const result = await working
  await second.commit()
  await observer.close()
  return result
}
