import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { addressesOf, addressFault, publicAddressesOf } from './public-address.ts'

const signal = new AbortController().signal

describe('an address', () => {
  test.each([
    '1.1.1.1',
    '8.8.8.8',
    '93.184.215.14',
    '172.15.255.255',
    '172.32.0.0',
    '100.63.255.255',
    '100.128.0.0',
    '2606:4700:4700::1111',
    '2a00:1450::1',
  ])('%s is public', (address) => expect(addressFault(address)).toBe(null))

  test.each([
    ['this network', '0.0.0.0', '0.1.2.3'],
    ['loopback', '127.0.0.1', '127.255.255.254', '::1'],
    ['private', '10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1', 'fc00::1', 'fd12:3456::1'],
    ['link-local, where clouds keep their secrets', '169.254.169.254', 'fe80::1', 'febf::1'],
    ['shared by a carrier', '100.64.0.1', '100.127.255.255'],
    ['multicast and broadcast', '224.0.0.1', '239.255.255.255', '255.255.255.255', 'ff02::1'],
    [
      'reserved, for tests and papers',
      '192.0.0.8',
      '192.0.2.1',
      '198.18.0.1',
      '198.19.255.255',
      '198.51.100.1',
      '203.0.113.1',
      '240.0.0.1',
      '2001:db8::1',
      '3fff::1',
    ],
    ['site-local, once', 'fec0::1'],
    ['unspecified', '::'],
    ['IPv4 in IPv6', '::ffff:10.0.0.1', '::ffff:8.8.8.8', '::127.0.0.1', '::ffff:0:127.0.0.1'],
    ['translated to IPv4', '64:ff9b::7f00:1', '64:ff9b::808:808', '64:ff9b:1::a00:1'],
    ['tunnelled', '2002:7f00:1::', '2001:0:7f00:1::'],
    ['not given out', '4000::1', '5f00::1', '100::1', '::2', 'fe00::1'],
    ['of a cloud’s platform', '168.63.129.16'],
    ['not an address', '', 'localhost', '1.2.3', '300.1.1.1', '127.0.0.1.'],
  ])('that is %s is not', (_, ...addresses) => {
    for (const address of addresses) expect([address, addressFault(address)]).not.toEqual([address, null])
  })

  it('of any private network is refused, in any spelling a URL may have', async () => {
    const octet = fc.nat(255)
    const privates = fc.oneof(
      fc.tuple(fc.constant(10), octet, octet, octet),
      fc.tuple(fc.constant(127), octet, octet, octet),
      fc.tuple(fc.constant(172), fc.integer({ min: 16, max: 31 }), octet, octet),
      fc.tuple(fc.constant(192), fc.constant(168), octet, octet),
      fc.tuple(fc.constant(169), fc.constant(254), octet, octet),
    )
    await fc.assert(
      fc.asyncProperty(privates, async ([a, b, c, d]) => {
        const number = ((a * 256 + b) * 256 + c) * 256 + d
        const hex = number.toString(16)
        const spellings = [
          `${a}.${b}.${c}.${d}`,
          `${number}`,
          `0x${hex}`,
          `0${a.toString(8)}.${b}.${c}.0x${d.toString(16)}`,
          `${a}.${b}.${c * 256 + d}`,
          `[::ffff:${a}.${b}.${c}.${d}]`,
          `${a}.${b}.${c}.${d}.`,
        ]
        for (const host of spellings)
          await expect(publicAddressesOf(new URL(`http://${host}/`), [], signal)).rejects.toMatchObject({
            code: 'address_refused',
          })
      }),
      { numRuns: 50 },
    )
  })
})

describe('a host', () => {
  test.each([
    'http://localhost/',
    'http://LOCALHOST:80/',
    'http://127.1/',
    'http://2130706433/',
    'http://0x7f.1/',
    'http://[::1]/',
    'http://①②⑦.0.0.1/',
  ])('%s is refused', async (url) => {
    await expect(publicAddressesOf(new URL(url), [], signal)).rejects.toMatchObject({
      code: 'address_refused',
    })
  })

  it('that is allowed by name, or by name and port, is not', async () => {
    const at = (url: string, ...allowed: string[]) => publicAddressesOf(new URL(url), allowed, signal)
    await expect(at('http://127.0.0.1:8080/', '127.0.0.1')).resolves.toEqual([
      { address: '127.0.0.1', family: 4 },
    ])
    await expect(at('http://127.0.0.1:8080/', '127.0.0.1:8080')).resolves.toHaveLength(1)
    await expect(at('http://[::1]/', '::1')).resolves.toEqual([{ address: '::1', family: 6 }])
    await expect(at('https://[::1]/', '[::1]:443')).resolves.toHaveLength(1)
    await expect(at('http://localhost/', 'LocalHost')).resolves.not.toHaveLength(0)
    await expect(at('http://127.0.0.1./', '127.0.0.1')).resolves.toHaveLength(1)
    await expect(at('http://localhost/', 'localhost.')).resolves.not.toHaveLength(0)
    await expect(at('http://127.0.0.1/', '*.0.0.1')).rejects.toMatchObject({ code: 'address_refused' })
    await expect(at('http://127.0.0.1:8081/', '127.0.0.1:8080')).rejects.toMatchObject({
      code: 'address_refused',
    })
    await expect(at('http://127.0.0.2/', '127.0.0.1')).rejects.toMatchObject({ code: 'address_refused' })
  })

  it('that nobody knows is told as such', async () => {
    await expect(addressesOf(new URL('http://no-such-host.invalid/'), signal)).rejects.toMatchObject({
      code: 'host_not_found',
    })
  })

  it('is not waited for after the abort', async () => {
    await expect(
      addressesOf(new URL('http://localhost/'), AbortSignal.abort(new Error('enough'))),
    ).rejects.toThrow('enough')
  })
})
