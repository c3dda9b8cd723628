import { link, mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { permissionOf, permissionOnSubject, type PermissionRule, ToolFailure } from '@beaver/agent/tool-kit'
import { imageLimits, type ImagePart } from '@beaver/core/images'
import { toolContext } from '@beaver/testing'
import { afterEach, beforeEach, describe, expect, it, test } from 'vitest'
import { viewImage } from './builtin-tools.ts'

const png = Buffer.from('\u0089PNG\r\n\u001a\n\0\0\0\rIHDR\0\0\0\u0004\0\0\0\u0002', 'latin1')
let workspace: string
beforeEach(async () => {
  workspace = await realpath(await mkdtemp(join(tmpdir(), 'beaver-view-')))
})
afterEach(() => rm(workspace, { recursive: true }))

/** What was shown, or the code of the refusal. */
async function view(path: string, ...rules: PermissionRule[]): Promise<string> {
  const shown: string[] = []
  const showImage = async (content: Uint8Array, name?: string): Promise<ImagePart> => {
    shown.push(`${name} ${content.length}`)
    return {
      media_type: 'image/png',
      sha256: 'a'.repeat(64),
      bytes: content.length,
      width: 4,
      height: 2,
      ...(name === undefined ? {} : { name }),
    }
  }
  const context = toolContext({
    workspace,
    showImage,
    permission: (subject) => permissionOnSubject(viewImage, subject, rules),
  })
  try {
    const result = await viewImage.invoke({ path }, context)
    expect(shown).toHaveLength(1)
    return result
  } catch (error) {
    expect(shown).toEqual([])
    if (error instanceof ToolFailure) return error.code
    throw error
  }
}

const put = (path: string, content: string | Buffer = png): Promise<void> =>
  writeFile(join(workspace, path), content)

it('shows an image by its bytes, whatever its name is', async () => {
  await put('chart.txt')
  expect(await view('chart.txt')).toBe('You are shown the image chart.txt 4×2 png 24 B.')
})

test.each([
  ['a.png', 'text'],
  ['a.svg', '<svg xmlns="http://www.w3.org/2000/svg"></svg>'],
  ['a.png', ''],
])('refuses %s with the content %j', async (path, content) => {
  await put(path, content)
  expect(await view(path)).toBe('not_an_image')
})

it('says of a drawing what it is and what to do', async () => {
  await put('a.svg', '<?xml version="1.0"?>\n<svg></svg>')
  const context = toolContext({ workspace, showImage: () => Promise.reject(new Error('shown')) })
  await expect(viewImage.invoke({ path: 'a.svg' }, context)).rejects.toThrow(
    'is an SVG drawing, not a picture of pixels. Models take PNG, JPEG, GIF and WebP',
  )
})

it('refuses an image that is too large', async () => {
  await put('a.png', Buffer.concat([png, Buffer.alloc(imageLimits.bytesMax)]))
  expect(await view('a.png')).toBe('image_too_large')
})

describe('the path is judged as read_file judges it', () => {
  it('leads nowhere outside', async () => {
    await symlink('/etc', join(workspace, 'out'))
    expect([await view('../a.png'), await view('out/passwd'), await view('missing.png')]).toEqual([
      'outside_workspace',
      'outside_workspace',
      'not_found',
    ])
  })

  it('of a file that holds secrets by its name, or has a second name, needs a rule', async () => {
    await put('id_rsa')
    await put('a.png')
    await link(join(workspace, 'a.png'), join(workspace, 'b.png'))
    expect([await view('id_rsa'), await view('b.png')]).toEqual(['secret_file', 'hard_link'])
    expect(await view('b.png', { tool: 'read_file', pattern: 'b.png', decision: 'allow' })).toMatch(
      /^You are shown/,
    )
  })

  it('is forbidden by a rule for read_file, directly and by a link', async () => {
    await mkdir(join(workspace, 'private'))
    await put('private/a.png')
    await symlink('private/a.png', join(workspace, 'open.png'))
    const rule = { tool: 'read_file', pattern: 'private/*', decision: 'deny' } as const
    expect(permissionOf(viewImage, { path: 'private/a.png' }, [rule]).decision).toBe('deny')
    expect(await view('open.png', rule)).toBe('permission_denied')
    expect(permissionOf(viewImage, { path: 'chart.png' }, [rule]).decision).toBe('allow')
  })
})

it('shows nothing where no image can be shown', async () => {
  await put('a.png')
  await expect(viewImage.invoke({ path: 'a.png' }, toolContext({ workspace }))).rejects.toMatchObject({
    code: 'images_unavailable',
  })
})
