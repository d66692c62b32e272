import { testIngress } from './ingress.ts'

const TEMPORARY = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']

testIngress({
  name: 'nginx',
  protocol: 'auth-request',
  hasHeaderPatterns: false,
  adapt: (text, dir) =>
    `pid ${dir}/nginx.pid;\nerror_log stderr;\ndaemon off;\nmaster_process off;\n${text.replace('http {', `http { access_log off; ${TEMPORARY.map((one) => `${one}_temp_path ${dir}/${one};`).join(' ')}`)}`,
  command: (dir) => ['nginx', '-c', `${dir}/example/nginx.conf`, '-p', dir],
})
