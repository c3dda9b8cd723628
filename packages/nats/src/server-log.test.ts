import { expect, it } from 'vitest'
import { damageIn } from './server-log.ts'

const line = (level: string, text: string): string => `[7] 2026/11/23 13:52:10.622680 [${level}] ${text}`

it('finds what a server says of damage to a stream, in the words of several versions', () => {
  const log = [
    line('WRN', 'Filestore [BEAVER_x] Stream state detected prior state, could not locate msg block 1'),
    line('WRN', 'Filestore [BEAVER_x] indexCacheBuf corrupt record state in /m/1.blk: dlen 16'),
    line('ERR', `  Error recovering stream '$G > BEAVER_x': bad checksum, rebuilding state`),
    line('WRN', 'Filestore [BEAVER_x] 12 message(s) lost'),
    line('WRN', '  Stream metafile "/s/BEAVER_x/meta.inf": checksums do not match "a" vs "b"'),
  ].join('\n')
  expect(damageIn(log, 'BEAVER_x')).toHaveLength(5)
  expect(damageIn(log, 'BEAVER_x')[0]).toBe(
    '2026/11/23 13:52:10.622680 Filestore [BEAVER_x] Stream state detected prior state, could not locate msg block 1',
  )
})

it('finds nothing in what a server writes that was killed and lost nothing', () => {
  const log = [
    line('INF', `  Restored 60 messages for stream '$G > BEAVER_x' in 0s`),
    line(
      'WRN',
      'Filestore [BEAVER_x] Stream state outdated, last block has additional entries, will rebuild',
    ),
    line('WRN', 'Filestore [BEAVER_x] Recovering stream state from index errored: prior state file'),
    line('WRN', 'Filestore [BEAVER_other] indexCacheBuf corrupt record state in /m/1.blk'),
  ].join('\n')
  expect(damageIn(log, 'BEAVER_x')).toEqual([])
})
