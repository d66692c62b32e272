// A gateway that a team has built with Fastify. Scopegate decides on each request before @fastify/http-proxy forwards
// the request.
import { join } from 'node:path'
import httpProxy from '@fastify/http-proxy'
import Fastify from 'fastify'
import scopegate from 'scopegate/fastify'

const server = Fastify()
await server.register(scopegate, { configDir: join(import.meta.dirname, 'config') })
await server.register(httpProxy, { upstream: 'http://127.0.0.1:5000' })
await server.listen({ host: '127.0.0.1', port: 8080 })
