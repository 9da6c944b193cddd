/** The console of the operators, behind a password. Put a proxy with TLS in front where others are to reach it. */
import { createHash, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { taskConsole } from '@taskstream/task-console'
import { toNode } from '@taskstream/task-console/node'
import { openShop } from './database.ts'
import { settings } from './settings.ts'

const { stream, close } = openShop()
const hashed = (text: string): Buffer => createHash('sha256').update(text).digest()

/** Any name, which the audit then shows, and the one password. */
function userOf(authorization: string | null): string | undefined {
  const { consolePassword } = settings
  const [, encoded] = /^Basic ([\w+/=-]+)$/.exec(authorization ?? '') ?? []
  if (!consolePassword || encoded === undefined) return undefined
  const [name = '', ...rest] = Buffer.from(encoded, 'base64').toString('utf8').split(':')
  return name !== '' && timingSafeEqual(hashed(rest.join(':')), hashed(consolePassword)) ? name : undefined
}

const tasks = taskConsole({
  repository: stream.tasks,
  transactions: (work) => stream.transaction(work),
  environment: 'shop',
  authorize: (request) => {
    const name = userOf(request.headers.get('authorization'))
    return name === undefined ? undefined : { name, role: 'operator' }
  },
})
const listener = toNode(tasks)
const server = createServer((request, response) => {
  if (userOf(request.headers.authorization ?? null) !== undefined) return void listener(request, response)
  response.writeHead(401, { 'www-authenticate': 'Basic realm="shop", charset="UTF-8"' }).end('Who is it?\n')
})
server.listen(settings.port, settings.host, () => {
  const { address, port } = server.address() as AddressInfo
  console.log(`console http://${address}:${port}`)
  for (const signal of ['SIGTERM', 'SIGINT'])
    process.once(signal, () => {
      server.close(() => void close())
      server.closeAllConnections()
    })
})
