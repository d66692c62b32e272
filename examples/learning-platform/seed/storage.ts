import type { Document } from '../families/json-schema.ts'

const LOGO = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64"><circle cx="32" cy="32" r="30" fill="#22577a"/><path d="M32 10l8 22-8 22-8-22z" fill="#c8553d"/></svg>`

export const seedStorage: readonly Document[] = [
  object('brand/logo.svg', 'Logo', 'image/svg+xml', 'public', LOGO),
  object(
    'materials/kiln-log.csv',
    'Kiln log',
    'text/csv',
    'private',
    'hour,target_c,measured_c\n0,20,20\n1,120,118\n2,220,219\n3,320,322\n',
  ),
  object(
    'materials/glaze-recipes.md',
    'Glaze recipes',
    'text/markdown',
    'private',
    '# Glazes\n\n- Clear: 40 feldspar, 30 silica, 20 whiting, 10 kaolin\n- Celadon: the same, and 1 iron oxide\n',
  ),
  object(
    'materials/cut-list.csv',
    'Cut list for a stool',
    'text/csv',
    'private',
    'part,count,length_mm,width_mm,thickness_mm\nseat,1,320,320,30\nleg,3,450,40,40\n',
  ),
  object(
    'materials/sharpening-angles.md',
    'Sharpening angles',
    'text/markdown',
    'public',
    '| tool | angle |\n| --- | --- |\n| chisel | 25 |\n| plane iron | 30 |\n| knife | 20 |\n',
  ),
  object(
    'materials/shot-list.csv',
    'Shot list',
    'text/csv',
    'private',
    'shot,size,seconds\n1,wide,8\n2,close,4\n3,hands,6\n',
  ),
  object(
    'materials/kiln-controller.ts',
    'Kiln controller, to be finished',
    'text/plain',
    'private',
    'export function nextStep(measured: number, target: number): "heat" | "hold" {\n  return measured < target ? "heat" : "hold"\n}\n',
  ),
  object(
    'downloads/first-bowl.md',
    'Your first bowl, the short book',
    'text/markdown',
    'private',
    '# Your first bowl\n\nStart with less clay than you think you need.\n',
  ),
  object(
    'downloads/paper-edit.md',
    'Paper edit template',
    'text/markdown',
    'private',
    '# Paper edit\n\n| minute | what we see | what we hear |\n| --- | --- | --- |\n',
  ),
  object(
    'downloads/welcome.txt',
    'Welcome letter',
    'text/plain',
    'public',
    'Welcome. Find a table, some light and a free hour.\n',
  ),
]

function object(
  path: string,
  title: string,
  media_type: string,
  visibility: 'public' | 'private',
  text: string,
): Document {
  return { path, title, media_type, visibility, content: Buffer.from(text).toString('base64') }
}
