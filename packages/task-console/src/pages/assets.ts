/** The style sheet and the script. Their names change with what they say, so browsers keep them for ever. */
import { createHash } from 'node:crypto'
import { script } from './script.ts'
import { style } from './style.ts'

export interface Asset {
  readonly name: string
  readonly type: string
  readonly text: string
}

export const styleSheet: Asset = asset('css', 'text/css; charset=utf-8', style)
export const clientScript: Asset = asset('js', 'text/javascript; charset=utf-8', script)
export const assets: readonly Asset[] = [styleSheet, clientScript]

function asset(ending: string, type: string, text: string): Asset {
  return { name: `${createHash('sha256').update(text).digest('base64url').slice(0, 12)}.${ending}`, type, text }
}
