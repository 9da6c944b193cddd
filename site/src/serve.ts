/** Serves the files of a folder on this machine alone. */
import { once } from 'node:events'
import { createReadStream, existsSync, statSync } from 'node:fs'
import { createServer } from 'node:http'
import type { ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, join, normalize, sep } from 'node:path'

const types: Readonly<Record<string, string>> = {
  '.css': 'text/css',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.json': 'application/json',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
}

/** @returns the file that a path stands for, or undefined if there is none in the folder */
function fileOf(folder: string, path: string): string | undefined {
  const asked = normalize(join(folder, path))
  if (asked !== folder && !asked.startsWith(folder + sep)) return undefined
  return [asked, join(asked, 'index.html'), `${asked}.html`].find((file) => existsSync(file) && statSync(file).isFile())
}

function answer(folder: string, path: string, outgoing: ServerResponse): void {
  const found = fileOf(folder, path)
  const file = found ?? join(folder, '404.html')
  outgoing.writeHead(found ? 200 : 404, { 'content-type': types[extname(file)] ?? 'application/octet-stream' })
  createReadStream(file)
    .on('error', () => outgoing.destroy())
    .pipe(outgoing)
}

export interface Served {
  /** Without a slash at its end. */
  readonly url: string
  close(): void
}

/**
 * @param port 0 for any that is free
 * @throws Error EADDRINUSE
 */
export async function serve(folder: string, port: number): Promise<Served> {
  const server = createServer((incoming, outgoing) => {
    try {
      answer(folder, decodeURIComponent(new URL(incoming.url ?? '/', 'http://localhost').pathname), outgoing)
    } catch {
      outgoing.writeHead(400).end()
    }
  }).listen(port, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}
