// Decides which network addresses are public, and resolves the host of a URL. Only IPv4 and IPv6 of 2000::/3
// outside every special range are public. An address that contains another one (mapped, translated,
// tunnelled) is not.
import type { LookupAddress } from 'node:dns'
import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { isHostOf, ToolFailure } from '@beaver/agent/tool-kit'
import ipaddr from 'ipaddr.js'

/** In the public range, but clouds use it for their own machines. */
const platformAddresses = new Set(['168.63.129.16'])

/** The kind of a private address. `null`: it is public. */
export function addressFault(address: string): string | null {
  if (isIP(address) === 0) return 'unreadable'
  const parsed = ipaddr.parse(address)
  const range: string = parsed.range()
  if (range !== 'unicast') return range
  if (parsed instanceof ipaddr.IPv6) return parsed.match(ipaddr.IPv6.parse('2000::'), 3) ? null : 'reserved'
  return platformAddresses.has(parsed.toString()) ? 'reserved' : null
}

/**
 * All addresses of a URL's host.
 *
 * @throws {ToolFailure} `host_not_found`; the reason of `signal`
 */
export async function addressesOf(url: URL, signal: AbortSignal): Promise<readonly LookupAddress[]> {
  const host = bareHost(url)
  const family = isIP(host)
  if (family !== 0) return [{ address: host, family }]
  const asked = lookup(host, { all: true }).catch((error: NodeJS.ErrnoException) => {
    throw new ToolFailure(
      'host_not_found',
      `The host ${host} is not known (${error.code ?? error.message}). Check the URL.`,
    )
  })
  return await untilAborted(asked, signal)
}

/**
 * All addresses, of which none may be private unless the host is one of `privateHosts`.
 *
 * @throws {ToolFailure} also `address_refused`
 */
export async function publicAddressesOf(
  url: URL,
  privateHosts: readonly string[],
  signal: AbortSignal,
): Promise<readonly LookupAddress[]> {
  const addresses = await addressesOf(url, signal)
  if (isAllowed(url, privateHosts)) return addresses
  const fault = addresses.map(({ address }) => addressFault(address)).find((each) => each !== null)
  if (fault === undefined && addresses.length > 0) return addresses
  throw new ToolFailure(
    'address_refused',
    `The host ${bareHost(url)} has an address that is not public (${fault ?? 'none at all'}), so Beaver does not fetch from it. Use a public page. The operator of Beaver can allow a host in "web_fetch.private_hosts".`,
  )
}

/** No port means every port. No pattern matches many names: a stranger's name could lead anywhere. */
const isAllowed = (url: URL, privateHosts: readonly string[]): boolean =>
  privateHosts.some((allowed) => !allowed.startsWith('*.') && isHostOf(url, allowed, 'any'))

/** Without the brackets of an IPv6 address. */
const bareHost = (url: URL): string => url.hostname.replace(/^\[(.*)\]$/, '$1')

async function untilAborted<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  signal.throwIfAborted()
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const onAbort = (): void => reject(signal.reason as Error)
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    return await Promise.race([promise, aborted])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}
