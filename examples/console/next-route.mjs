// app/ops/tasks/[[...path]]/route.js
import { console as taskConsole } from './console.mjs'

export const GET = (request) => taskConsole.fetch(request)
export const POST = GET
export const PATCH = GET
export const DELETE = GET
