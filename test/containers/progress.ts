/** Shows how much of an image has been fetched. */
import type { Readable } from 'node:stream'
import { SingleBar } from 'cli-progress'

/** A line of Docker's answer to a pull. */
interface Line {
  readonly id?: string
  readonly status?: string
  readonly progressDetail?: { readonly current?: number; readonly total?: number }
  readonly error?: string
}

/** @throws Error if the image cannot be fetched */
export async function showProgress(image: string, stream: Readable): Promise<void> {
  const bar = new SingleBar({
    format: `${image} {bar} {value} of {total} MB`,
    hideCursor: true,
    // Without a terminal, a line is printed now and then.
    noTTYOutput: true,
    notTTYSchedule: 5000,
  })
  const layers = new Map<string, { readonly current: number; readonly total: number }>()
  bar.start(0, 0)
  try {
    for await (const text of linesOf(stream)) {
      const { id, status, progressDetail: { current, total } = {}, error } = JSON.parse(text) as Line
      if (error !== undefined) throw new Error(error)
      if (id === undefined) continue
      if (status === 'Downloading' && current !== undefined && total !== undefined) layers.set(id, { current, total })
      const known = layers.get(id)
      if (known && status === 'Download complete') layers.set(id, { ...known, current: known.total })
      const sum = (of: 'current' | 'total'): number =>
        Math.round([...layers.values()].reduce((all, layer) => all + layer[of], 0) / 1e6)
      bar.setTotal(sum('total'))
      bar.update(sum('current'))
    }
  } finally {
    bar.stop()
  }
}

/** Splits a stream into lines. `readline` is not used, as it hides that a stream has failed. */
async function* linesOf(stream: Readable): AsyncGenerator<string> {
  let rest = ''
  for await (const text of stream.setEncoding('utf8')) {
    const lines = `${rest}${text as string}`.split('\n')
    rest = lines.pop() ?? ''
    yield* lines.filter((line) => line.trim() !== '')
  }
}
