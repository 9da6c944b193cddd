import 'reflect-metadata'
import { Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { toNode } from '@taskstream/task-console/node'
import { console as taskConsole } from './console.mjs'

function AppModule() {}
Module({})(AppModule)

const app = await NestFactory.create(AppModule, { logger: false })
app.use('/ops/tasks', toNode(taskConsole))
await app.listen(0, '127.0.0.1')
console.log(`http://127.0.0.1:${app.getHttpServer().address().port}/ops/tasks/`)
