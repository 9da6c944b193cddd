import { DatabaseSync } from 'node:sqlite'
import { defineJob, json, many, never, settled, taskstream } from 'taskstream/node-sqlite'

const page = defineJob('page', {
  input: json<{ url: string }>(),
  output: json<{ words: number }>(),
  retry: never,
})
const report = defineJob('report', {
  needs: { pages: many(page), cover: settled(page) },
  output: json<string>(),
})
const crawl = defineJob('crawl', { input: json<{ urls: string[] }>(), next: [report] })

const stream = taskstream(new DatabaseSync(':memory:'), { listener: {} })

stream.handle(page, ({ input: { url } }) => {
  if (url === '/gone') throw new Error('404')
  return { words: url.length * 100 }
})

stream.handle(report, ({ needs: { pages, cover } }) => {
  const words = pages.reduce((sum, one) => sum + one.words, 0)
  return cover.ok ? `${words} words and a cover` : `${words} words, no cover: ${cover.state}`
})

stream.handle(crawl, ({ input: { urls }, commit, next }) =>
  commit((tx) => {
    const pages = stream.pushMany(
      tx,
      page,
      urls.map((url) => [{ url }]),
    )
    return next(report, undefined, { needs: { pages, cover: stream.push(tx, page, { url: '/gone' }) } })
  }),
)

await stream.prepare(crawl)
const weekly = await stream.transaction((tx) => {
  const pages = stream.pushMany(tx, page, [[{ url: '/a' }], [{ url: '/b' }]])
  const cover = stream.push(tx, page, { url: '/cover' })
  return stream.push(tx, report, undefined, { needs: { pages, cover } })
})
console.log(await stream.transaction((tx) => stream.get(tx, report, weekly)?.state))

await stream.start()
console.log(await stream.wait(report, weekly))
console.log(await stream.wait(crawl, await stream.submit(crawl, { urls: ['/a', '/bb'] })))
await stream.stop()
