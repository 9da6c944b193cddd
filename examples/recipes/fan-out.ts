import { sql } from 'kysely'
import { defineJob, fixed, json, many, settled } from 'taskstream'
import { openDatabase } from './database.ts'

const resize = defineJob('resize', {
  input: json<{ album: number; photo: string }>(),
  id: ({ album, photo }) => `${album}/${photo}`,
  output: json<{ bytes: number }>(),
  retry: fixed({ tries: 3, afterMs: 20 }),
  timeoutMs: 60_000,
})
const publish = defineJob('publish-album', {
  input: json<{ album: number }>(),
  needs: { photos: many(settled(resize)) },
  output: json<string>(),
})
const upload = defineJob('upload', {
  input: json<{ album: number; photos: readonly string[] }>(),
  id: ({ album }) => `album ${album}`,
  next: [publish],
})

interface Tables {
  albums: { id: number; photos: number }
}
const { db, newStream, close } = openDatabase<Tables>()
const stream = newStream({ listener: {} })

stream.handle(upload, ({ input: { album, photos }, commit, next }) =>
  commit(async (tx) => {
    const pushed = await stream.pushMany(
      tx,
      resize,
      photos.map((photo) => [{ album, photo }]),
    )
    return next(publish, { album }, { needs: { photos: pushed } })
  }),
)

let tries = 0
stream.handle(
  resize,
  async ({ input: { photo }, signal }) => {
    signal.throwIfAborted()
    tries++
    if (photo === 'broken.jpg') throw new Error('This is no picture')
    return { bytes: photo.length * 1_000 }
  },
  { concurrency: 4 },
)

stream.handle(publish, ({ input: { album }, needs: { photos }, commit }) =>
  commit(async (tx) => {
    const fine = photos.flatMap((one) => (one.ok ? [one.value] : []))
    const broken = photos.flatMap((one) => (one.ok ? [] : [one.output?.split('\n')[0]]))
    await tx.insertInto('albums').values({ id: album, photos: fine.length }).execute()
    const bytes = fine.reduce((sum, one) => sum + one.bytes, 0)
    return `${fine.length} photos of ${bytes} bytes; ${broken.length} not: ${broken.join(', ')}`
  }),
)

await sql`create table albums (id integer primary key, photos integer not null)`.execute(db)
await stream.start()
const album = await stream.submit(upload, { album: 7, photos: ['a.jpg', 'bb.jpg', 'broken.jpg', 'ccc.jpg'] })
console.log(await stream.wait(upload, album, { timeoutMs: 60_000 }))
console.log(`${tries} tries`)
await stream.stop()
await close()
