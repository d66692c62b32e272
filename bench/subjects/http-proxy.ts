// The typical proxy of a Fastify user: @fastify/http-proxy with its defaults, without a log and without authorization.
import proxy from '@fastify/http-proxy'
import fastify from 'fastify'
import { announceListening } from '../announce-listening.ts'

const app = fastify()
await app.register(proxy, { upstream: String(process.env['BENCH_UPSTREAM']) })
await app.ready()
announceListening(app.server)
