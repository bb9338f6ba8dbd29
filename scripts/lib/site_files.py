"""Files that daemons read: keys, which nobody else may, and configurations."""
import json


def toml_string(value):
    return json.dumps(str(value), ensure_ascii=False)


def write_file(path, text, mode=0o644):
    """It has that mode before anything is in it."""
    path.touch(mode)
    path.chmod(mode)
    path.write_text(text, encoding="utf-8")
    return path


def write_key(path, key, secret):
    return write_file(path, f"key = {toml_string(key)}\nsecret = {toml_string(secret)}\n", 0o600)


def silent_terminal(name, port, key_file, gateway_port=None):
    """The configuration of a terminal without a voice."""
    gateway = f'gateway = "127.0.0.1:{gateway_port}"\n' if gateway_port else ""
    return (f'name = {toml_string(name)}\nlisten = "127.0.0.1:{port}"\n{gateway}key_file = {toml_string(key_file)}\n'
            '[audio]\noutput = "off"\n')


def lamps(terminals):
    """The terminals of a gateway's configuration, from (name, port)."""
    return "".join(f'[[terminals]]\nname = {toml_string(name)}\naddress = "127.0.0.1:{port}"\n' for name, port in terminals)
