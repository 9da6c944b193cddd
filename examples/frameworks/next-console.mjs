// app/ops/tasks/[[...path]]/route.js
import { ops } from './shop.mjs'

export const GET = (request) => ops.fetch(request)
export const POST = GET
export const PATCH = GET
export const DELETE = GET
