import { json } from 'node:stream/consumers'

const { input } = await json(process.stdin)
if (input.pages < 1) {
  console.error('There is nothing to render')
  process.exit(65)
}
console.log(JSON.stringify({ file: `${input.title}.pdf` }))
