// Hosts as a configuration names them: `host`, `host:port` or `*.domain`, in any spelling. One spelling is
// compared: lower case, ASCII (the form of the name system), no dot at the end.
import { domainToASCII } from 'node:url'

interface HostPattern {
  readonly host: string
  /** Whether every name below the host is meant, and not the host itself. */
  readonly below: boolean
  readonly port: string | null
}

const usualPorts: Readonly<Record<string, string>> = { 'https:': '443', 'http:': '80' }

/** Returns `null` if the text names no host. */
export function readHostPattern(text: string): HostPattern | null {
  const below = text.startsWith('*.')
  const named = below ? text.slice(2) : text
  const isIpv6 = /^[^[\]]*:[^[\]]*:/.test(named)
  const [, name = '', port = null] = isIpv6
    ? [named, `[${named}]`]
    : (/^(.*?)(?::(\d+))?$/s.exec(named) ?? [])
  if (name === '' || /[\s/?#@*\\]/.test(name)) return null
  const host = bareHost(URL.parse(`http://${name}/`)?.hostname ?? '')
  return host === '' ? null : { host, below, port: port ?? null }
}

/**
 * Whether the URL leads to a host that the pattern names. A user name before the host makes no difference.
 *
 * @param ports which ports a pattern without a port means
 */
export function isHostOf(url: URL, pattern: string, ports: 'usual' | 'any' = 'usual'): boolean {
  const read = readHostPattern(pattern)
  if (read === null) return false
  const host = bareHost(url.hostname)
  if (!(read.below ? host.endsWith(`.${read.host}`) : host === read.host)) return false
  if (read.port === null) return ports === 'any' || url.port === ''
  return read.port === (url.port === '' ? usualPorts[url.protocol] : url.port)
}

/**
 * The pattern of a rule about addresses with its host in the spelling of subjects. A part with `*` keeps it.
 */
export function patternOfAddress(pattern: string): string {
  if (!pattern.includes('*')) {
    const url = URL.parse(pattern)
    if (url === null || !Object.hasOwn(usualPorts, url.protocol)) return pattern
    url.hostname = bareHost(url.hostname)
    return url.href
  }
  const [, scheme = '', authority = '', rest = ''] = /^([a-z*]+):\/\/([^/?#]*)(.*)$/is.exec(pattern) ?? []
  if (authority === '' || authority.includes('@')) return pattern
  const [, name = '', port = ''] = /^(.*?)(:[\d*]+)?$/s.exec(authority) ?? []
  const usual = port === `:${usualPorts[`${scheme.toLowerCase()}:`]}`
  const host = name.startsWith('[') ? name.toLowerCase() : name.split('.').map(asciiLabel).join('.')
  return `${scheme.toLowerCase()}://${bareHost(host)}${usual ? '' : port}${rest.replaceAll(/[^\0-\x7f]+/gu, encodeURIComponent)}`
}

const asciiLabel = (label: string): string =>
  label.includes('*') ? label.toLowerCase() : domainToASCII(label) || label.toLowerCase()

const bareHost = (host: string): string => host.replace(/\.+$/, '')
