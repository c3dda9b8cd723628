// A fetch for URLs that an MCP server and its authorization server choose: metadata, registration, tokens.
// They must not lead into this machine's network, so only https to public addresses is allowed, and no
// redirect is followed. If the MCP server itself is private, its host is allowed too, and http on loopback.
// The judged address is the connected one.
import { lookup as lookupName } from 'node:dns'
import {
  type ClientRequest,
  type IncomingMessage,
  request as httpRequest,
  type RequestOptions,
} from 'node:http'
import { request as httpsRequest } from 'node:https'
import { BlockList, isIP, type LookupFunction } from 'node:net'
import type { Clock } from '@beaver/core'
import type { FetchLike } from '@modelcontextprotocol/client'

const timeoutMsMax = 30_000
const bodyBytesMax = 1024 * 1024

const special = new BlockList()
for (const [net, bits] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['168.63.129.16', 32],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
] as const)
  special.addSubnet(net, bits, 'ipv4')
const global6 = new BlockList()
global6.addSubnet('2000::', 3, 'ipv6')
const special6 = new BlockList()
for (const [net, bits] of [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
] as const)
  special6.addSubnet(net, bits, 'ipv6')

export function isPublicAddress(address: string): boolean {
  const family = isIP(address)
  if (family === 4) return !special.check(address, 'ipv4')
  return family === 6 && global6.check(address, 'ipv6') && !special6.check(address, 'ipv6')
}

/** @param serverUrl the MCP server's URL, which the operator chose */
export function guardedFetch(serverUrl: string, clock: Clock): FetchLike {
  const own = new URL(serverUrl)
  return async (input, init) => {
    const url = new URL(input)
    const isOwn = url.hostname === own.hostname || (isLoopback(url) && isLoopback(own))
    if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isOwn && isLoopback(url)))
      throw new Error(`The server names ${url.origin}, which is not https. Beaver does not ask it.`)
    if (url.username !== '' || url.password !== '')
      throw new Error(`The server names a URL at ${url.host} with a password in it. Beaver does not ask it.`)
    const bare = url.hostname.replace(/^\[(.*)\]$/, '$1')
    if (!isOwn && isIP(bare) !== 0 && !isPublicAddress(bare)) throw privateAddress(url)
    return send(url, init ?? {}, { lookup: isOwn ? undefined : publicLookup(url), clock })
  }
}

const isLoopback = ({ hostname }: URL): boolean =>
  hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname)
const privateAddress = (url: URL): Error =>
  new Error(`The server names ${url.host}, which is not in the public network. Beaver does not ask it.`)

function publicLookup(url: URL): LookupFunction {
  return (name, options, done) => {
    lookupName(name, { ...options, all: true }, (error, found) => {
      const addresses = found ?? []
      const [first] = addresses
      if (error !== null) done(error, '')
      else if (first === undefined || !addresses.every(({ address }) => isPublicAddress(address)))
        done(privateAddress(url), '')
      else if (options.all === true) done(null, addresses)
      else done(null, first.address, first.family)
    })
  }
}

function send(
  url: URL,
  init: RequestInit,
  { lookup, clock }: { lookup: LookupFunction | undefined; clock: Clock },
): Promise<Response> {
  const asked = new Request(url, { ...init, redirect: 'manual' })
  const options: RequestOptions = {
    method: asked.method,
    headers: Object.fromEntries(asked.headers),

    ...(lookup === undefined ? {} : { lookup }),
  }
  const { promise, resolve, reject } = Promise.withResolvers<Response>()
  const sent: ClientRequest = (url.protocol === 'https:' ? httpsRequest : httpRequest)(
    url,
    options,
    (answer) => void readAll(answer).then(resolve, reject),
  )
  const late = clock.after(
    timeoutMsMax,
    () => void sent.destroy(new Error(`${url.host} did not answer within ${timeoutMsMax / 1000} s.`)),
  )
  sent.once('error', reject)
  sent.once('close', () => late.cancel())
  init.signal?.addEventListener('abort', () => sent.destroy(new Error('the request was stopped')), {
    once: true,
  })
  asked.arrayBuffer().then(
    (body) => sent.end(Buffer.from(body)),
    (error: unknown) => sent.destroy(error as Error),
  )
  return promise
}

async function readAll(answer: IncomingMessage): Promise<Response> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > bodyBytesMax) throw new Error(`An answer has more than ${bodyBytesMax / 1024} KiB.`)
    chunks.push(chunk)
  }
  const status = answer.statusCode ?? 502
  const headers = new Headers(
    Object.entries(answer.headers).flatMap(([name, value]) =>
      typeof value === 'string' ? [[name, value] as [string, string]] : [],
    ),
  )
  const empty = [101, 204, 205, 304].includes(status) || status < 200
  return new Response(empty ? null : Buffer.concat(chunks), { status: Math.max(200, status), headers })
}
