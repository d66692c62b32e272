-- Asks Scopegate for a decision on a request. Replace the address with decisions.listen of Scopegate.
local DECISIONS = 'http://127.0.0.1:4010/_scopegate'

-- Headers of the connection or of the body. The other headers of the client are part of the decision.
local OMITTED = {
  ['connection'] = true, ['content-length'] = true, ['expect'] = true, ['keep-alive'] = true, ['te'] = true,
  ['trailer'] = true, ['transfer-encoding'] = true, ['upgrade'] = true,
}

-- Headers of the decision for the response to a browser, and the variables for haproxy.cfg.
local CORS = {
  ['access-control-allow-origin'] = 'cors_origin', ['access-control-expose-headers'] = 'cors_expose', ['vary'] = 'cors_vary',
}

-- Calls `use` with each name and value. HAProxy numbers the values of a header from 0.
local function each_header(headers, use)
  for name, values in pairs(headers) do
    if not OMITTED[name] then
      for at = 0, #values do use(name, values[at]) end
    end
  end
end

-- Removes the header Connection, and the headers that it names. RFC 9110 section 7.6.1.
local function remove_connection(http)
  local values = http:req_get_headers()['connection'] or {}
  for at = 0, #values do
    for name in (values[at] or ''):lower():gmatch('[^%s,]+') do
      if not OMITTED[name] then http:req_del_header(name) end
    end
  end
  http:req_del_header('connection')
end

core.register_action('decide', { 'http-req' }, function(txn)
  remove_connection(txn.http)
  local headers = {}
  each_header(txn.http:req_get_headers(), function(name, value)
    headers[name] = headers[name] or {}
    table.insert(headers[name], value)
  end)
  headers['x-forwarded-method'] = { txn.sf:method() }
  headers['x-forwarded-uri'] = { txn.sf:pathq() }
  headers['x-forwarded-for'] = { txn.sf:src() }
  local decision = core.httpclient():get({ url = DECISIONS, headers = headers, timeout = 5000 })

  -- Without this header, a 200 is not a decision.
  local allows = decision.headers and decision.headers['x-scopegate-decision']
  if decision.status == 200 and allows and allows[0] == 'allow' then
    -- Scopegate lists the headers that its own proxy would not forward.
    local removed = decision.headers['x-scopegate-remove'] or {}
    for name in (removed[0] or ''):gmatch('[^,]+') do txn.http:req_del_header(name) end
    each_header(decision.headers, function(name, value)
      if name:sub(1, 7) == 'x-auth-' then txn.http:req_set_header(name, value) end
    end)
    txn.http:req_set_header('x-request-id', decision.headers['x-request-id'][0])
    for name, variable in pairs(CORS) do
      local values = decision.headers[name]
      if values then txn:set_var('txn.' .. variable, values[0]) end
    end
    txn:set_var('txn.scopegate_allows', true)
    return
  end
  -- Every other status is a denial. Without a response of Scopegate, HAProxy returns 503.
  local reply = txn:reply({ status = 503 })
  if decision.status >= 400 then
    reply:set_status(decision.status)
    reply:set_body(decision.body or '')
    each_header(decision.headers, function(name, value) reply:add_header(name, value) end)
  end
  txn:done(reply)
end, 0)
