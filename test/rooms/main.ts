/** Prints how the packages are cut: `npm run rooms`. */
import Table from 'cli-table3'
import { importsOf, packageNames, roomOf, sizesOf } from './rooms.ts'

const table = new Table({
  head: ['package', 'files', 'lines p50', 'p90', 'max', 'rooms', 'arrows', 'upwards'],
  style: { head: [], border: [] },
})
for (const name of packageNames) {
  const { between, upward } = importsOf(name)
  const sizes = sizesOf(name)
  const at = (share: number): number => sizes[Math.min(sizes.length - 1, Math.floor(sizes.length * share))]!
  const rooms = new Set(between.flatMap(({ from, to }) => [roomOf(from), roomOf(to)]))
  const arrows = new Set(between.map(({ from, to }) => `${roomOf(from)} ${roomOf(to)}`))
  table.push([name, sizes.length, at(0.5), at(0.9), sizes.at(-1), Math.max(1, rooms.size), arrows.size, upward.length])
}
console.log(table.toString())
